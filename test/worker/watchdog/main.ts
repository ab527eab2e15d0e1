// A worker's main thread with nothing but the watchdog: tasks are called synchronously out of the read callback of fd 3, as
// the job loop does it; each line there is a job. What happens is written to fd 4, a line each.
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import type { WorkerConfig } from '../../../src/wire/messages.js'
import { startWatchdog } from '../../../src/worker/watchdog/thread-link.js'

interface Order {
  slot: number
  delivery: number
  task: string
  soft: number
  hard: number
  /** Call the task out of the wake callback. */
  wake?: boolean
  /** Hold the main thread in a write of results for so many ms. */
  blocked?: number
}

const { config, tasks, starting } = JSON.parse(process.argv[2]!) as { config: WorkerConfig; tasks: string; starting: number }
const say = (event: object): void => void writeSync(4, `${JSON.stringify(event)}\n`)
const scope = new AsyncLocalStorage<number>()
const woken: Order[] = []
const link = startWatchdog(config, {
  onCancel: (delivery, reason) => say({ event: 'cancel', delivery, reason }),
  onSoftLimit: (delivery, limit) => say({ event: 'soft', delivery, limit }),
  onInterrupted: (delivery, cause, stack) => {
    link.ended(slots.indexOf(delivery))
    say({ event: 'interrupted', delivery, cause, stack })
  },
  onWake: () => {
    const order = woken.shift()
    if (order !== undefined) begin(order)
  },
})
const slots: number[] = []
say({ event: 'hello' })
const until = Date.now() + starting
while (Date.now() < until) Math.random()

const module = import(tasks) as Promise<Record<string, (...args: unknown[]) => unknown>>
let functions: Record<string, (...args: unknown[]) => unknown> = {}

const settle = (slot: number, delivery: number, value: unknown): void => {
  link.ended(slot)
  say({ event: 'done', delivery, value: value ?? null })
}

const begin = (order: Order): void => {
  const { slot, delivery, task } = order
  if (!link.claimer.claim(delivery)) {
    say({ event: 'dropped', delivery })
    return
  }
  say({ event: 'accepted', delivery })
  slots[slot] = delivery
  link.began(slot, delivery, order.soft, order.hard)
  if (order.blocked !== undefined) {
    link.beforeWrite()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.blocked)
    link.afterWrite()
  }
  link.entering(delivery)
  const value = scope.run(delivery, () => functions[task]!())
  link.left()
  if (value instanceof Promise) {
    value.then((result) => settle(slot, delivery, result))
    return
  }
  settle(slot, delivery, value)
}

const read = (line: string): void => {
  const order = JSON.parse(line) as Order
  if (order.wake === true) {
    woken.push(order)
    link.wake()
    return
  }
  begin(order)
}

void module.then((loaded) => {
  functions = loaded
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: 3,
    readable: true,
    writable: false,
    onread: {
      buffer: Buffer.alloc(65536),
      callback: (size, bytes) => {
        for (const line of Buffer.from(bytes.buffer, 0, size).toString().split('\n').filter(Boolean)) read(line)
        return true
      },
    },
  }
  const jobs = new Socket(options)
  jobs.on('end', () => process.exit(0))
  say({ event: 'up' })
})
