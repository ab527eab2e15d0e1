// What the nodes of the soak run. Each beginning and each end is written down before anything else happens.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { currentJob } from 'prefork/worker'

const journal = process.env.PREFORK_SOAK_JOURNAL
/** Of an orphan it would be another. */
const node = process.ppid

const write = (mark) => {
  const { id, attempt, delivery } = currentJob()
  appendFileSync(journal, `${mark} ${id} ${Date.now()} ${process.pid} ${node} ${attempt} ${delivery.losses} ${delivery.requeues}\n`)
}

export const nap = async (ms) => {
  write('begin')
  await delay(ms)
  write('end')
}

/** Ends every worker that it meets. */
export const poison = async (ms) => {
  write('begin')
  await delay(ms)
  process.kill(process.pid, 'SIGKILL')
}
