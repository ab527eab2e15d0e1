import { MemoryLimitError, PoolClosedError, QueueFullError, SerializationError, WorkerLostError, WorkerStartError } from '../../src/wire/errors.js'
import { drawPlan, itemOf, type Plan, resultOf } from './plans.js'
import type { Random } from './random.js'
import type { Simulation } from './script.js'

interface Stream {
  readonly plan: Plan
  readonly iterator: AsyncIterableIterator<unknown>
  received: number
  /** The calls of `next` that have not settled. */
  pendingReads: number
  ended: boolean
  /** The consumer called `return`. */
  returned: boolean
  failed: boolean
}

/** Consumers of calls without options, streams, maps and broadcasts. They check that they receive every value, in order and once. */
export class Consumers {
  broadcasts = 0
  resizes = 0
  readonly #simulation: Simulation
  readonly #nextKey: () => number
  readonly #streams: Stream[] = []
  /** The calls, maps and broadcasts that have not settled, by name. */
  readonly #calls = new Set<string>()

  constructor(simulation: Simulation, nextKey: () => number) {
    this.#simulation = simulation
    this.#nextKey = nextKey
  }

  // ---- streams

  open(random: Random): void {
    const { pool, world, calls } = this.#simulation
    const retries = random.below(2)
    const plan = { ...drawPlan(random, this.#nextKey(), 'items'), ms: random.pick([0, 0, 1, 10]), retries }
    world.trace(`stream ${plan.key} of ${plan.count} items`)
    const iterator = pool.stream('items', [plan], { retryLost: retries, calls: calls.functions, cancel: asks(plan) })
    const stream: Stream = { plan, iterator, received: 0, pendingReads: 0, ended: false, returned: false, failed: false }
    this.#streams.push(stream)
    this.#read(stream, random.between(1, 5))
  }

  read(random: Random): void {
    const open = this.#streams.filter(isOpen)
    if (open.length > 0) this.#read(random.pick(open), random.between(1, 40))
  }

  returnOne(random: Random): void {
    const open = this.#streams.filter(isOpen)
    if (open.length > 0) this.#return(random.pick(open))
  }

  #return(stream: Stream): void {
    stream.returned = true
    const { world, history } = this.#simulation
    const { plan, iterator } = stream
    world.trace(`stream ${plan.key} is returned`)
    this.#track(`return of stream ${plan.key}`, async () => {
      await iterator.return?.(undefined)
      const runs = asks(plan) !== undefined && [...history.jobs.values()].some((job) => job.key === plan.key && job.running !== undefined)
      history.check(!runs, () => `promise 4: stream ${plan.key} was left, and its generator still runs`)
    })
  }

  #read(stream: Stream, times: number): void {
    for (let i = 0; i < times; i++) {
      stream.pendingReads++
      stream.iterator.next().then(
        ({ done, value }) => {
          stream.pendingReads--
          if (done === true) stream.ended = true
          else this.#item(stream, value)
        },
        (error) => {
          stream.pendingReads--
          stream.ended = true
          stream.failed = true
          this.#failed(`stream ${stream.plan.key}`, error)
        },
      )
    }
  }

  #item(stream: Stream, value: unknown): void {
    const { history } = this.#simulation
    const expected = itemOf(stream.plan, stream.received++)
    history.check(value === expected, () => `promise 7: stream ${stream.plan.key} yielded ${String(value)}, not ${expected}`)
  }

  // ---- calls without options, maps and broadcasts

  /** Their jobs are packed while they wait. */
  run(random: Random): void {
    const { pool, history } = this.#simulation
    for (let left = random.between(1, 20); left > 0; left--) {
      const plan = { ...drawPlan(random, this.#nextKey(), 'noop'), padding: undefined }
      this.#track(`run ${plan.key}`, async () => {
        const value = await pool.run('quick', [plan])
        const expected = JSON.stringify(resultOf(plan, 1))
        history.check(JSON.stringify(value) === expected, () => `promise 7: run ${plan.key} resolved with ${JSON.stringify(value)}, not ${expected}`)
      })
    }
  }

  map(random: Random): void {
    const { pool, history } = this.#simulation
    const plans = Array.from({ length: random.between(1, 12) }, () => ({ ...drawPlan(random, this.#nextKey(), 'noop'), padding: undefined }))
    const stopAfter = random.chance(0.3) ? random.below(plans.length) : Number.POSITIVE_INFINITY
    this.#track(`map ${plans[0]!.key}`, async () => {
      let count = 0
      for await (const value of pool.map(
        'quick',
        plans.map((plan): [Plan] => [plan]),
        { cancel: asks(plans[0]!) },
      )) {
        const expected = JSON.stringify(resultOf(plans[count]!, 1))
        history.check(JSON.stringify(value) === expected, () => `promise 7: a map yielded ${JSON.stringify(value)}, not ${expected}`)
        if (count++ === stopAfter) return
      }
      history.check(count === plans.length, () => `promise 3: a map of ${plans.length} ended after ${count}`)
    })
  }

  broadcast(random: Random, workers: number): void {
    const { config, pool, processes, history } = this.#simulation
    this.broadcasts++
    const retryLost = random.below(3)
    const plan: Plan = { key: this.#nextKey(), kind: 'ident', ms: random.pick([0, 0, 2, 40]), count: 0, eager: false, padding: undefined, retries: retryLost }
    const workersIn = (...states: string[]): number[] =>
      pool
        .stats()
        .workers.filter(({ state }) => states.includes(state))
        .map(({ id }) => id)
    const before = workersIn('up', 'busy', 'starting')
    const { resizes } = this
    this.#track(`broadcast ${plan.key}`, async () => {
      const results = await pool.broadcast('quick', [plan], { retryLost })
      const reached = new Set<unknown>(results)
      history.check(reached.size === results.length, () => `promise 3: broadcast ${plan.key} ran twice in a worker: ${results.join(', ')}`)
      const missed = workersIn('up', 'busy').filter((id) => before.includes(id) && !reached.has(id))
      history.check(missed.length === 0, () => `promise 3: broadcast ${plan.key} did not reach worker ${missed.join(', ')}`)
      // After several failed starts a slot may stay without a worker. A worker whose pipe breaks before it accepted a job failed as well.
      const failedStarts = [...processes.values()].filter(({ alive, upAt, pipeBroken }) => !alive && (upAt === undefined || pipeBroken)).length
      if (config.min !== undefined || resizes !== this.resizes || failedStarts > 2) return
      history.check(results.length >= workers, () => `promise 3: broadcast ${plan.key} has ${results.length} results of ${workers} workers`)
    })
  }

  #track(name: string, fn: () => Promise<void>): void {
    this.#simulation.world.trace(name)
    this.#calls.add(name)
    fn().then(
      () => this.#calls.delete(name),
      (error) => {
        this.#calls.delete(name)
        this.#failed(name, error)
      },
    )
  }

  #failed(name: string, error: unknown): void {
    const { history, checker, world } = this.#simulation
    world.trace(`${name} failed: ${String(error)}`)
    const isExpected =
      error instanceof WorkerLostError ||
      error instanceof WorkerStartError ||
      error instanceof MemoryLimitError ||
      error instanceof QueueFullError ||
      (error instanceof PoolClosedError && checker.closeCalled) ||
      (error instanceof DOMException && checker.closeCalled)
    history.check(isExpected && !(error instanceof SerializationError), () => `${name} failed: ${String(error)}`)
  }

  // ---- the end

  /** Returns half of the open streams, and reads the others to their end. */
  finish(): void {
    this.#streams.forEach((stream, index) => {
      if (!isOpen(stream)) return
      if (index % 2 === 0) this.#return(stream)
      else this.#read(stream, stream.plan.count + 1)
    })
  }

  /** A stream that was not returned must have yielded all its items, or rejected one of its reads. */
  checkAtEnd(): void {
    const { history } = this.#simulation
    for (const { plan, received, ended, returned, failed } of this.#streams) {
      history.check(
        !ended || returned || failed || received === plan.count,
        () => `promise 3: stream ${plan.key} ended after ${received} of ${plan.count} items without an error`,
      )
    }
  }

  /** Describes the streams and calls that have not settled. */
  pending(): string[] {
    return [
      ...this.#streams
        .filter(isOpen)
        .map(({ plan, received, pendingReads }) => `stream ${plan.key}: ${received} of ${plan.count} items, ${pendingReads} pending reads`),
      ...this.#calls,
    ]
  }
}

/** Half of them wait for their jobs when they are left. */
const asks = ({ key }: Plan): 'ask' | undefined => (key % 2 === 0 ? 'ask' : undefined)

const isOpen = ({ ended, returned }: Stream): boolean => !ended && !returned
