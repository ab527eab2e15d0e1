import { MemoryLimitError, PoolClosedError, QueueFullError, SerializationError, WorkerLostError, WorkerStartError } from '../../src/wire/errors.js'
import { drawPlan, itemOf, type Plan, resultOf } from './plans.js'
import type { Random } from './random.js'
import type { Stage } from './script.js'

interface Stream {
  readonly plan: Plan
  readonly iterator: AsyncIterableIterator<unknown>
  got: number
  asked: number
  over: boolean
  left: boolean
  failed: boolean
}

/** Those who iterate: over streams and maps; and broadcasts. What they are given is in order, whole, and once. */
export class Consumers {
  broadcasts = 0
  resizes = 0
  readonly #stage: Stage
  readonly #key: () => number
  readonly #streams: Stream[] = []
  /** Under way: maps and broadcasts. */
  readonly #others = new Set<string>()

  constructor(stage: Stage, key: () => number) {
    this.#stage = stage
    this.#key = key
  }

  // ---- streams

  open(draw: Random): void {
    const { pool, world } = this.#stage
    const retries = draw.below(2)
    const plan = { ...drawPlan(draw, this.#key(), 'items'), ms: draw.pick([0, 0, 1, 10]), retries }
    world.say(`stream ${plan.key} of ${plan.count} items`)
    const iterator = pool.stream('items', [plan], { retryLost: retries })
    const stream: Stream = { plan, iterator, got: 0, asked: 0, over: false, left: false, failed: false }
    this.#streams.push(stream)
    this.#ask(stream, draw.between(1, 5))
  }

  take(draw: Random): void {
    const open = this.#streams.filter(({ over, left }) => !over && !left)
    if (open.length > 0) this.#ask(draw.pick(open), draw.between(1, 40))
  }

  leave(draw: Random): void {
    const open = this.#streams.filter(({ over, left }) => !over && !left)
    if (open.length > 0) this.#leave(draw.pick(open))
  }

  #leave(stream: Stream): void {
    stream.left = true
    this.#stage.world.say(`stream ${stream.plan.key} is left`)
    void stream.iterator.return?.(undefined)
  }

  #ask(stream: Stream, times: number): void {
    for (let i = 0; i < times; i++) {
      stream.asked++
      stream.iterator.next().then(
        ({ done, value }) => {
          stream.asked--
          if (done === true) stream.over = true
          else this.#item(stream, value)
        },
        (error) => {
          stream.asked--
          stream.over = true
          stream.failed = true
          this.#failed(`stream ${stream.plan.key}`, error)
        },
      )
    }
  }

  #item(stream: Stream, value: unknown): void {
    const { truth } = this.#stage
    const expected = itemOf(stream.plan, stream.got++)
    truth.demand(value === expected, () => `promise 7: stream ${stream.plan.key} brought ${String(value)}, not ${expected}`)
  }

  // ---- the others

  map(draw: Random): void {
    const { pool, truth } = this.#stage
    const plans = Array.from({ length: draw.between(1, 12) }, () => ({ ...drawPlan(draw, this.#key(), 'noop'), ballast: undefined }))
    const stopAfter = draw.chance(0.3) ? draw.below(plans.length) : Number.POSITIVE_INFINITY
    this.#under(`map ${plans[0]!.key}`, async () => {
      let at = 0
      for await (const value of pool.map(
        'quick',
        plans.map((plan): [Plan] => [plan]),
      )) {
        const expected = JSON.stringify(resultOf(plans[at]!, 1))
        truth.demand(JSON.stringify(value) === expected, () => `promise 7: a map brought ${JSON.stringify(value)}, not ${expected}`)
        if (at++ === stopAfter) return
      }
      truth.demand(at === plans.length, () => `promise 3: a map of ${plans.length} ended after ${at}`)
    })
  }

  broadcast(draw: Random, places: number): void {
    const { config, pool, processes, truth } = this.#stage
    this.broadcasts++
    const retryLost = draw.below(3)
    const plan: Plan = { key: this.#key(), kind: 'place', ms: draw.pick([0, 0, 2, 40]), count: 0, heeds: false, ballast: undefined, retries: retryLost }
    const there = (...states: string[]): number[] =>
      pool
        .stats()
        .workers.filter(({ state }) => states.includes(state))
        .map(({ id }) => id)
    const before = there('up', 'busy', 'starting')
    const { resizes } = this
    this.#under(`broadcast ${plan.key}`, async () => {
      const answers = await pool.broadcast('quick', [plan], { retryLost })
      const asked = new Set<unknown>(answers)
      truth.demand(asked.size === answers.length, () => `promise 3: broadcast ${plan.key} asked one twice: ${answers.join(', ')}`)
      const missed = there('up', 'busy').filter((id) => before.includes(id) && !asked.has(id))
      truth.demand(missed.length === 0, () => `promise 3: broadcast ${plan.key} did not ask ${missed.join(', ')}`)
      // Where starts fail again and again, a place may stay empty. One whose pipe breaks before it has accepted anything has failed as well.
      const failedStarts = [...processes.values()].filter(({ alive, upAt, broken }) => !alive && (upAt === undefined || broken)).length
      if (config.min !== undefined || resizes !== this.resizes || failedStarts > 2) return
      truth.demand(answers.length >= places, () => `promise 3: broadcast ${plan.key} was answered ${answers.length} times by ${places} workers`)
    })
  }

  #under(name: string, fn: () => Promise<void>): void {
    this.#stage.world.say(name)
    this.#others.add(name)
    fn().then(
      () => this.#others.delete(name),
      (error) => {
        this.#others.delete(name)
        this.#failed(name, error)
      },
    )
  }

  #failed(name: string, error: unknown): void {
    const { truth, judge, world } = this.#stage
    world.say(`${name} failed: ${String(error)}`)
    const fair =
      error instanceof WorkerLostError ||
      error instanceof WorkerStartError ||
      error instanceof MemoryLimitError ||
      error instanceof QueueFullError ||
      (error instanceof PoolClosedError && judge.ended) ||
      (error instanceof DOMException && judge.ended)
    truth.demand(fair && !(error instanceof SerializationError), () => `${name} failed: ${String(error)}`)
  }

  // ---- the end

  /** Half of the streams are left, the others read to their end. */
  finish(): void {
    this.#streams.forEach((stream, index) => {
      if (stream.over || stream.left) return
      if (index % 2 === 0) this.#leave(stream)
      else this.#ask(stream, stream.plan.count + 1)
    })
  }

  /** A stream that nobody left has brought all of its items, or told one of its callers why not. */
  verdicts(): void {
    const { truth } = this.#stage
    for (const { plan, got, over, left, failed } of this.#streams) {
      truth.demand(
        !over || left || failed || got === plan.count,
        () => `promise 3: stream ${plan.key} ended after ${got} of ${plan.count} items, and nobody was told why`,
      )
    }
  }

  /** What is still under way. */
  open_(): string[] {
    return [
      ...this.#streams
        .filter(({ over, left }) => !over && !left)
        .map(({ plan, got, asked }) => `stream ${plan.key}: ${got} of ${plan.count} items, ${asked} asked`),
      ...this.#others,
    ]
  }
}
