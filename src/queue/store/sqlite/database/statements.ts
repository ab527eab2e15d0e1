import { type Database, type Statement, withPlainRows } from './node-sqlite.js'

/** What each job costs on its way is read column by column: a column that nobody needs costs as much as one that somebody does. */
const ENDING = 'seq, queue, id, state, awaited, pending, options, history, attempt, losses, requeues, unknown_for'

/**
 * Every statement that reads or changes jobs. None scans a table or sorts: a test reads their plans. SQLite prepares a statement again (5 µs) when the
 * value has changed of a parameter that it used for its plan: one that is the LIMIT, or that it compared with the condition of a partial index. What
 * each commit runs hides the first in a function, and names its index.
 */
export const SQL = {
  // ---- queues and counters
  queueByName: 'SELECT * FROM queue WHERE name = ?1',
  queues: 'SELECT * FROM queue WHERE id > 0',
  insertQueue: 'INSERT INTO queue (name) VALUES (?1)',
  setQueue: 'UPDATE queue SET paused = ?2, rate = ?3, full_at = CASE WHEN rate IS ?3 THEN full_at ELSE 0 END WHERE id = ?1',
  setFullAt: 'UPDATE queue SET full_at = ?2 WHERE id = ?1',
  count: 'INSERT INTO counter VALUES (?1, ?2, ?3, ?4) ON CONFLICT (queue, state) DO UPDATE SET n = n + ?3, ended = ended + ?4',
  ended: 'SELECT ended FROM counter WHERE queue = ?1 AND state = ?2',
  counters: 'SELECT state, n FROM counter WHERE queue = ?1',

  // ---- adding
  jobById: 'SELECT * FROM job WHERE queue = ?1 AND id = ?2',
  jobBySeq: 'SELECT * FROM job WHERE seq = ?1',
  insertJob: `INSERT INTO job (queue, id, task, state, priority, timing, run_at, expires_at, pending, tolerant, dedup, created_at, options)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`,
  /** Node 22 binds empty bytes as NULL. */
  insertBody: "INSERT INTO body VALUES (?1, ?2, coalesce(?3, x''))",
  dedup: 'SELECT seq, until, id, state FROM dedup WHERE queue = ?1 AND key = ?2',
  setDedup: 'INSERT OR REPLACE INTO dedup (queue, key, seq, until) VALUES (?1, ?2, ?3, ?4)',
  outliveJob: 'UPDATE dedup SET id = ?4, state = ?5 WHERE queue = ?1 AND key = ?2 AND seq = ?3 AND until > ?6',
  deleteDedup: 'DELETE FROM dedup WHERE queue = ?1 AND key = ?2 AND seq = ?3',
  insertEdge: 'INSERT INTO edge VALUES (?1, ?2)',
  setAwaited: 'UPDATE job SET awaited = 1 WHERE seq = ?1 AND awaited = 0',

  // ---- claiming
  waiting: `SELECT ${ENDING}, task, priority, expires_at, token FROM job WHERE queue = ?1 AND state = 0 ORDER BY priority DESC, seq LIMIT max(?2, 0)`,
  claim: 'UPDATE job SET state = 2, session = ?2, node = ?3, token = token + 1, begun = 0, cancel = 0 WHERE seq = ?1',
  body: 'SELECT checksum, body FROM body WHERE seq = ?1',
  /** Reads the first page of a body only. */
  bodyHead: 'SELECT checksum, length(body) AS length FROM body WHERE seq = ?1',

  // ---- settling: each finds only the job of a claim that stands
  claimed: `SELECT ${ENDING}, cancel, timing, run_at FROM job WHERE seq = ?1 AND token = ?2 AND state = 2`,
  complete: `UPDATE job SET state = 4, session = NULL, cancel = 0, ended_at = ?2, kept_until = ?3, kept_to = ?4, answer = ?5, answer_checksum = ?6
    WHERE seq = ?1`,
  /** Nobody cancels it or depends on it. */
  completeKnown: `UPDATE job SET state = 4, session = NULL, ended_at = ?3, kept_until = ?4, kept_to = ?5, answer = ?6, answer_checksum = ?7
    WHERE seq = ?1 AND token = ?2 AND state = 2 AND cancel = 0 AND awaited = 0`,
  /** Runs were lost before the one that completed it. */
  setRecord: 'UPDATE job SET losses = ?2, history = ?3 WHERE seq = ?1',
  began: 'UPDATE job SET begun = ?3 WHERE seq = ?1 AND token = ?2 AND state = 2',
  beganAgain: 'UPDATE job SET begun = ?3, history = ?4 WHERE seq = ?1 AND token = ?2 AND state = 2',
  giveBack: `UPDATE job SET state = ?2, timing = ?3, run_at = ?4, session = NULL, node = NULL, begun = 0, cancel = 0,
    attempt = ?5, losses = ?6, requeues = ?7, unknown_for = ?8, history = ?9 WHERE seq = ?1`,
  end: `UPDATE job SET state = ?2, session = NULL, cancel = 0, ended_at = ?3, kept_until = ?4, kept_to = ?5, reason = ?6,
    attempt = ?7, losses = ?8, requeues = ?9, unknown_for = ?10, history = ?11 WHERE seq = ?1`,
  keepUntil: 'UPDATE job SET kept_until = ?2 WHERE seq = ?1',
  keepTo: 'UPDATE job SET kept_to = ?2 WHERE seq = ?1',
  setAnswer: `INSERT INTO outcome (seq, checksum, answer) VALUES (?1, ?2, coalesce(?3, x''))
    ON CONFLICT (seq) DO UPDATE SET checksum = ?2, answer = coalesce(?3, x''), error = NULL`,
  setError: 'INSERT INTO outcome (seq, error) VALUES (?1, ?2) ON CONFLICT (seq) DO UPDATE SET error = ?2',
  setProgress: "INSERT INTO outcome (seq, progress) VALUES (?1, coalesce(?2, x'')) ON CONFLICT (seq) DO UPDATE SET progress = coalesce(?2, x'')",

  // ---- dependencies
  dependents: 'SELECT job.* FROM edge JOIN job ON job.seq = edge.after WHERE edge.before = ?1',
  dependencies: 'SELECT job.* FROM edge JOIN job ON job.seq = edge.before WHERE edge.after = ?1',
  setPending: 'UPDATE job SET pending = ?2 WHERE seq = ?1',
  setState: 'UPDATE job SET state = ?2 WHERE seq = ?1',
  deleteEdgesTo: 'DELETE FROM edge WHERE after = ?1',
  deleteEdgesFrom: 'DELETE FROM edge WHERE before = ?1',
  edgeFrom: 'SELECT 1 FROM edge WHERE before = ?1 LIMIT 1',

  // ---- what a user changes
  lastSeq: 'SELECT seq FROM job WHERE seq > 0 ORDER BY seq DESC LIMIT 1',
  again: `UPDATE job SET state = ?2, node = NULL, pending = ?3, timing = 0, run_at = NULL, expires_at = NULL, attempt = 1, losses = 0, requeues = 0,
    unknown_for = 0, begun = 0, dedup = NULL, ended_at = NULL, kept_until = NULL, kept_to = NULL, reason = NULL WHERE seq = ?1`,
  clearProgress: 'UPDATE outcome SET progress = NULL WHERE seq = ?1',
  promote: 'UPDATE job SET state = 0, run_at = NULL WHERE seq = ?1',
  requestCancel: 'UPDATE job SET cancel = 1 WHERE seq = ?1 AND state = 2 AND cancel = 0',
  deleteJob: 'DELETE FROM job WHERE seq = ?1',
  deleteBody: 'DELETE FROM body WHERE seq = ?1',
  deleteOutcome: 'DELETE FROM outcome WHERE seq = ?1',

  // ---- listing
  all: 'SELECT * FROM job WHERE seq > ?1 ORDER BY seq LIMIT ?2',
  nextPriority: 'SELECT priority FROM job WHERE queue = ?1 AND state = 0 AND priority < ?2 ORDER BY priority DESC LIMIT 1',
  waitingAfter: 'SELECT * FROM job WHERE queue = ?1 AND state = 0 AND priority = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4',
  listed: 'SELECT * FROM job WHERE queue = ?1 AND state = ?2 AND state <> 0 AND state <> 2 AND seq > ?3 ORDER BY seq LIMIT ?4',
  active: 'SELECT * FROM job WHERE session > 0 AND state = 2',
  answer: 'SELECT checksum, answer FROM outcome WHERE seq = ?1',
  /** Comes before the answer in the row: it reads no page of that. */
  outcomeHead: 'SELECT checksum, error, progress FROM outcome WHERE seq = ?1',
  error: 'SELECT error FROM outcome WHERE seq = ?1',

  // ---- what time brings
  due: 'SELECT * FROM job WHERE state = 1 AND timing = ?1 AND run_at <= ?2 ORDER BY run_at LIMIT ?3',
  nextDue: 'SELECT run_at AS at FROM job WHERE state = 1 AND timing = ?1 AND run_at > 0 ORDER BY run_at LIMIT 1',
  expired: 'SELECT * FROM job WHERE expires_at <= ?1 AND state <> 2 AND state < 4 ORDER BY expires_at LIMIT ?2',
  nextRemoval: 'SELECT kept_until AS at FROM job WHERE kept_until > 0 ORDER BY kept_until LIMIT 1',
  nextExpiry: 'SELECT expires_at AS at FROM job WHERE expires_at > 0 AND state <> 2 AND state < 4 ORDER BY expires_at LIMIT 1',
  over: 'SELECT * FROM job WHERE kept_until <= ?1 ORDER BY kept_until LIMIT ?2',
  dedupOver: 'SELECT queue, key, seq FROM dedup WHERE until <= ?1 AND state IS NOT NULL ORDER BY until LIMIT ?2',
  nextDedupOver: 'SELECT until AS at FROM dedup WHERE until > 0 AND state IS NOT NULL ORDER BY until LIMIT 1',
  surplus: `SELECT seq, queue, id, state, awaited, pending, dedup, options FROM job INDEXED BY job_surplus
    WHERE queue = ?1 AND state = ?2 AND kept_to <= ?3 ORDER BY kept_to LIMIT max(?4, 0)`,

  // ---- sessions
  insertSession: 'INSERT INTO session (name, socket, watches) VALUES (?1, ?2, ?3)',
  sessions: 'SELECT * FROM session WHERE id > 0',
  session: 'SELECT * FROM session WHERE id = ?1',
  beat: 'UPDATE session SET beat = beat + 1 WHERE id = ?1 AND dead = 0',
  setWatches: 'UPDATE session SET watches = ?2 WHERE id = ?1',
  markDead: 'UPDATE session SET dead = 1 WHERE id = ?1',
  markStill: 'UPDATE session SET dead = 1 WHERE id = ?1 AND (dead = 1 OR beat = ?2)',
  deleteSession: 'DELETE FROM session WHERE id = ?1',
  held: 'SELECT * FROM job WHERE session = ?1 AND state = 2 LIMIT ?2',
  cancelled: 'SELECT seq, token FROM job WHERE session = ?1 AND state = 2 AND cancel = 1',

  // ---- schedules and the clock
  schedule: 'SELECT * FROM schedule WHERE queue = ?1 AND key = ?2',
  schedules: 'SELECT * FROM schedule WHERE queue = ?1 ORDER BY key',
  setSchedule: "INSERT OR REPLACE INTO schedule VALUES (?1, ?2, ?3, coalesce(?4, x''), ?5)",
  deleteSchedule: 'DELETE FROM schedule WHERE queue = ?1 AND key = ?2',
  dueSchedules: 'SELECT * FROM schedule WHERE next_at <= ?1 ORDER BY next_at LIMIT ?2',
  nextSchedule: 'SELECT next_at AS at FROM schedule WHERE next_at > 0 ORDER BY next_at LIMIT 1',
  advance: 'UPDATE schedule SET next_at = ?4 WHERE queue = ?1 AND key = ?2 AND next_at = ?3',
  meta: 'SELECT value FROM meta WHERE key = ?1',
  setMeta: 'INSERT OR REPLACE INTO meta VALUES (?1, ?2)',
  swapMeta: 'UPDATE meta SET value = ?3 WHERE key = ?1 AND value = ?2',
} as const

export type Statements = { readonly [Name in keyof typeof SQL]: Statement }

/** Prepares all statements, once for the life of a connection. */
export const prepareStatements = (database: Database): Statements =>
  Object.fromEntries(
    Object.entries(SQL).map(([name, sql]) => {
      const statement = database.prepare(sql)
      return [name, sql.startsWith('SELECT') ? withPlainRows(statement) : statement]
    }),
  ) as Statements
