// A process with a store of its own, which does what its parent asks: `{ id, method, args }` is answered by `{ id, value }` or `{ id, error }`.
import { SqliteStore } from '../../../../../dist/queue/store/sqlite/sqlite-store.js'

const [path, options] = process.argv.slice(2)
const store = new SqliteStore(path, JSON.parse(options ?? '{}'))
let session
let lost = false

const methods = {
  open: () => store.open(),
  openSession: async (info) => {
    session = await store.openSession({ name: 'child', schedulers: true, ...info })
    session.lost.addEventListener('abort', () => {
      lost = true
    })
    return session.id
  },
  add: (jobs) => store.add(jobs.map((job) => ({ ...job, body: Buffer.from(job.body) }))),
  claim: async (queues, max) => (await session.claim(queues, max)).jobs.map(({ seq, token, id, counts }) => ({ seq, token, id, counts })),
  began: (lease) => session.began(lease),
  complete: (lease) => session.settle(lease, { as: 'completed', answer: Buffer.from('done') }),
  isLost: () => lost,
  queue: (name, set) => store.queue(name, set),
  closeSession: () => session.close(),
  end: (how) => {
    if (how === 'exit') process.exit(0)
    setImmediate(() => {
      throw new Error('It ends here.')
    })
  },
  close: () => store.close(),
}

process.on('message', async ({ id, method, args }) => {
  try {
    process.send({ id, value: await methods[method](...args) })
  } catch (error) {
    process.send({ id, error: { message: error.message, code: error.code } })
  }
})
process.on('disconnect', () => process.exit())
process.send('up')
