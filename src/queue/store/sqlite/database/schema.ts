import type { Database } from './node-sqlite.js'

/** Says that a file is a store of prefork: 'pfkq'. */
export const APPLICATION_ID = 0x70_66_6b_71

/** The version of the schema that this code reads and writes. */
export const SCHEMA_VERSION = 2

/**
 * What is large, or written when a job ends, is apart from the job's row: every change of a row writes all of it. The body is written once.
 * The jobs of a queue that end in one state are numbered, in `counter.ended`: a job is kept until the one numbered `kept_to` has ended.
 * A key of `dedup` that outlives its job has the id and the last state of that.
 * `seq` is never used twice: a claim of a job that is gone must not name another one. States are the indices of JOB_STATES.
 */
const FIRST_SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    rate TEXT,
    full_at REAL NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE job (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    timing INTEGER NOT NULL,
    run_at INTEGER,
    expires_at INTEGER,
    attempt INTEGER NOT NULL DEFAULT 1,
    losses INTEGER NOT NULL DEFAULT 0,
    requeues INTEGER NOT NULL DEFAULT 0,
    unknown_for INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    session INTEGER,
    node TEXT,
    begun INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    pending INTEGER,
    tolerant INTEGER NOT NULL DEFAULT 0,
    awaited INTEGER NOT NULL DEFAULT 0,
    dedup TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    kept_until INTEGER,
    kept_to INTEGER,
    options TEXT,
    history TEXT,
    reason TEXT
  ) STRICT;
  CREATE UNIQUE INDEX job_id ON job (queue, id);
  CREATE INDEX job_waiting ON job (queue, priority DESC, seq) WHERE state = 0;
  CREATE INDEX job_due ON job (timing, run_at) WHERE state = 1;
  CREATE INDEX job_session ON job (session) WHERE state = 2;
  CREATE INDEX job_cancel ON job (session) WHERE state = 2 AND cancel = 1;
  CREATE INDEX job_expiry ON job (expires_at) WHERE expires_at IS NOT NULL AND state <> 2 AND state < 4;
  CREATE INDEX job_listed ON job (queue, state, seq) WHERE state <> 0 AND state <> 2;
  CREATE INDEX job_kept ON job (kept_until) WHERE kept_until IS NOT NULL;
  CREATE INDEX job_surplus ON job (queue, state, kept_to) WHERE kept_to IS NOT NULL;
  CREATE TABLE body (seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE outcome (seq INTEGER PRIMARY KEY, checksum INTEGER, error TEXT, progress BLOB, answer BLOB) STRICT;
  CREATE TABLE edge (before INTEGER NOT NULL, after INTEGER NOT NULL, PRIMARY KEY (before, after)) STRICT, WITHOUT ROWID;
  CREATE INDEX edge_after ON edge (after, before);
  CREATE TABLE dedup (
    queue INTEGER NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    until INTEGER,
    id TEXT,
    state INTEGER,
    PRIMARY KEY (queue, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX dedup_over ON dedup (until) WHERE state IS NOT NULL;
  CREATE TABLE counter (
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    n INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    PRIMARY KEY (queue, state)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    socket TEXT,
    beat INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    watches INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE schedule (
    queue INTEGER NOT NULL,
    key TEXT NOT NULL,
    definition TEXT NOT NULL,
    body BLOB NOT NULL,
    next_at INTEGER,
    PRIMARY KEY (queue, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX schedule_due ON schedule (next_at) WHERE next_at IS NOT NULL;
`

/** An answer of a few bytes is in the job's row, which is written anyway when the job ends: a row of `outcome` would be one more to write, and to remove. */
const SHORT_ANSWERS = `
  ALTER TABLE job ADD COLUMN answer BLOB;
  ALTER TABLE job ADD COLUMN answer_checksum INTEGER;
`

/** Each leads from the version of its index to the next. */
export const MIGRATIONS: readonly string[] = [FIRST_SCHEMA, SHORT_ANSWERS]

export const versionOf = (database: Database): number => Number(database.prepare('PRAGMA user_version').get()!.user_version)

/** Brings the schema up to date. To be called in a transaction: the file is of the old version, or of the new one. */
export const migrate = (database: Database, migrations: readonly string[] = MIGRATIONS): void => {
  const from = versionOf(database)
  if (from >= migrations.length) return
  for (const migration of migrations.slice(from)) database.exec(migration)
  if (from === 0) database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  database.exec(`PRAGMA user_version = ${migrations.length}`)
}
