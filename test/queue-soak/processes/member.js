// A process with a queue and, when it is asked for one, a node: each line of stdin is `{ id, method, args }`, and is answered by `{ id, value }` or `{ id, error }`.

import { openSync, writeSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { createQueue, createWorker, runWorker } from 'prefork/queue'
import { transactions, wallOffset } from './store-seams.js'

const journal = openSync(process.env.PREFORK_PROOF_JOURNAL, 'a')
const note = (line) => writeSync(journal, `${line}\n`)
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const store = process.env.PREFORK_PROOF_ADDRESS
const tasks = new URL('tasks.js', import.meta.url)
const loop = monitorEventLoopDelay({ resolution: 1 })
loop.enable()

const queues = new Map()
const events = {}
let node

const plain = (value) => (typeof value === 'object' && value !== null && 'id' in value && 'result' in value ? value.id : value)
const queueOf = async (name) => {
  if (!queues.has(name)) queues.set(name, await createQueue({ store, queue: name }))
  return queues.get(name)
}

/** Keeps so many adds outstanding until the process is killed. A line `added <id>` follows each that was confirmed, `flow <name>` each whole flow. */
const produce = async (outstanding, flowEvery, flowSize) => {
  const queue = await queueOf('default')
  let last = 0
  const add = async () => {
    for (;;) {
      const id = `${process.pid}-${++last}`
      if (last % flowEvery !== 0) {
        await queue.add('nap', [0], { id })
        note(`added ${id}`)
        continue
      }
      const children = Array.from({ length: flowSize - 1 }, (_, index) => ({ task: 'nap', args: [0], options: { id: `flow-${id}-${index}` } }))
      await queue.addFlow({ task: 'join', args: [], options: { id: `flow-${id}-root` }, children })
      note(`flow ${id}`)
    }
  }
  await Promise.all(Array.from({ length: outstanding }, add))
}

const methods = {
  queue: async (name, method, ...args) => {
    const value = await (await queueOf(name))[method](...args)
    return Array.isArray(value) ? value.map(plain) : plain(value)
  },
  result: async (name, id, options) => (await (await queueOf(name)).job(id)).result(options),
  /** How long each of so many adds took, one after the other, ms. */
  addTimed: async (name, count, args) => {
    const queue = await queueOf(name)
    let worst = 0
    for (let index = 0; index < count; index++) {
      const began = performance.now()
      await queue.add('nap', args)
      worst = Math.max(worst, performance.now() - began)
    }
    return worst
  },
  produce: (...args) => void produce(...args),
  watch: async (name, event) => {
    const heard = []
    events[event] = heard
    const queue = await queueOf(name)
    queue.on(event, ({ id }) => heard.push(id))
  },
  heard: (event) => events[event] ?? [],
  node: async (options) => {
    node = await createWorker({ store, tasks, ...options })
    node.onEvent(({ type, id }) => {
      if (type === 'task.succeeded') note(`confirmed ${id} ${Date.now()} ${process.pid}`)
    })
  },
  /** The whole runtime; how it ended is said later. */
  run: (options) => {
    runWorker({ store, tasks, ...options }).then(
      () => send({ ended: 'in order' }),
      ({ code, message }) => send({ ended: code ?? message }),
    )
  },
  stats: () => node.stats(),
  shutdown: () => node.shutdown(),
  moveClock: (ms) => {
    wallOffset[0] += ms
  },
  /** Since the last call. */
  transactions: () => {
    const [longest, count] = transactions
    transactions.fill(0)
    return { longest, count }
  },
  /** ms by which the event loop was late, at most in 99 of 100 turns, since the last call. */
  loopDelay: () => {
    const p99 = loop.percentile(99) / 1e6
    loop.reset()
    return p99
  },
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, method, args } = JSON.parse(line)
    try {
      send({ id, value: await methods[method](...args) })
    } catch (error) {
      send({ id, error: { message: error.message, code: error.code } })
    }
  })
  .on('close', () => process.exit())
send({ up: true })
