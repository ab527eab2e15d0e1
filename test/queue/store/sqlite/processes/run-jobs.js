// Claims and completes jobs until it is killed. What was confirmed goes to a file: a line `confirmed <id>`, and `begun <id>` before. One job in seven fails once.
import { openSync, writeSync } from 'node:fs'
import { SqliteStore } from '../../../../../dist/queue/store/sqlite/sqlite-store.js'

const [path, log, concurrency] = process.argv.slice(2)
const file = openSync(log, 'a')
const note = (line) => writeSync(file, `${line}\n`)
const store = new SqliteStore(path)
await store.open()
const session = await store.openSession({ name: 'runner', schedulers: true })
const error = { name: 'Error', message: 'once', stack: undefined, code: undefined }
let held = 0

const run = async (job) => {
  session.began(job)
  note(`begun ${job.id}`)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
  const fails = job.seq % 7 === 0 && job.counts.attempt === 1
  const outcome = fails
    ? { as: 'retry', delay: 1, counts: { ...job.counts, attempt: 2 }, history: [], error }
    : { as: 'completed', answer: Buffer.from(job.id) }
  if ((await session.settle(job, outcome)) && !fails) note(`confirmed ${job.id}`)
}

let isClaiming = false
const claim = async () => {
  if (isClaiming) return
  isClaiming = true
  try {
    for (let count = 1; count > 0 && held < Number(concurrency); ) {
      const { jobs } = await session.claim(['q'], Number(concurrency) - held)
      count = jobs.length
      held += count
      for (const job of jobs) {
        void run(job).finally(() => {
          held--
          void claim()
        })
      }
    }
  } finally {
    isClaiming = false
  }
}
session.onWork(() => void claim())
session.lost.addEventListener('abort', () => process.exit(3))
process.send('up')
await claim()
