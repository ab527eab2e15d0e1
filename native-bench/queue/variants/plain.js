// What a program of thirty lines does with node:sqlite: one table, one transaction for each job, in the main thread.
import { argsOf, fileIn } from '../jobs.js'

/** @import { Drain, DrainOptions } from '../types.js' */

/** Jobs after which the event loop turns. */
const SLICE = 16

/** @param {DrainOptions} options @returns {Promise<Drain>} */
export const openPlain = async ({ folder, jobs }) => {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(fileIn(folder))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
    CREATE TABLE job (seq INTEGER PRIMARY KEY, state INTEGER NOT NULL, body TEXT NOT NULL, answer TEXT);
    CREATE INDEX job_waiting ON job (seq) WHERE state = 0; BEGIN`)
  const insert = database.prepare('INSERT INTO job (state, body) VALUES (0, ?)')
  for (let n = 0; n < jobs; n++) insert.run(JSON.stringify(argsOf(n)))
  database.exec('COMMIT')
  const statements = {
    begin: database.prepare('BEGIN IMMEDIATE'),
    finish: database.prepare('UPDATE job SET state = 2, answer = ?2 WHERE seq = ?1'),
    next: database.prepare('SELECT seq, body FROM job WHERE state = 0 ORDER BY seq LIMIT 1'),
    claim: database.prepare('UPDATE job SET state = 1 WHERE seq = ?1'),
    commit: database.prepare('COMMIT'),
  }
  let left = jobs
  let stopped = false
  /** @type {number | undefined} */
  let seq
  const step = () => {
    statements.begin.run()
    if (seq !== undefined) {
      statements.finish.run(seq, 'null')
      left--
    }
    const job = statements.next.get()
    seq = /** @type {number | undefined} */ (job?.seq)
    if (seq !== undefined) statements.claim.run(seq)
    statements.commit.run()
    return seq !== undefined
  }
  const turn = () => {
    for (let n = 0; n < SLICE; n++) if (!step()) return
    if (!stopped) setImmediate(turn)
  }
  return {
    start: async () => turn(),
    left: () => left,
    stop: async () => {
      stopped = true
    },
  }
}
