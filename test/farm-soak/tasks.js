// The tasks of the soak. Each start and each end is written to the journal first.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { currentJob } from 'prefork/worker'

const journal = process.env.PREFORK_SOAK_JOURNAL
/** Read at the start: an orphan's parent is another process. */
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

/** Kills each worker that runs it. */
export const poison = async (ms) => {
  write('begin')
  await delay(ms)
  process.kill(process.pid, 'SIGKILL')
}
