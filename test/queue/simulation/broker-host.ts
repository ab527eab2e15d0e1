/** A host with the queue's own broker. The runtime of the node is a model: it holds deliveries, begins them and settles each once. */

import type { Consumption } from '../../../src/node/broker.js'
import { NodeHooks } from '../../../src/queue/broker/hooks.js'
import { QueueBroker } from '../../../src/queue/broker/queue-broker.js'
import type { Lease } from '../../../src/queue/store/store.js'
import type { Delivery, RunRecord, Settlement } from '../../../src/runtime/delivery.js'
import { type AskingSession, AskingStore } from './asking-store.js'
import { contexts, type TimeContext } from './clock.js'
import { ERROR, type Host, type HostSettings, MAX_LOSSES, MAX_REQUEUES, recordOf } from './host.js'
import type { SimProcess } from './process.js'

interface ActiveJob {
  readonly delivery: Delivery
  readonly session: AskingSession
  /** For how long its process had been stopped when it came. */
  readonly stoppedFor: number
  begun: boolean
  /** It has lost runs under this delivery. */
  record: RunRecord | undefined
  settling: boolean
  /** How it is to be settled is decided: it does not begin any more. */
  isDecided: boolean
}

/** A queue is paused for so long before its jobs must have been given back, ms. */
const GIVE_BACK = 3_000
/** A job that waits is claimed by a host that has had room for so long, ms. */
const MAX_IDLE = 1_500
/** The longest wait of the broker after the store has refused a session, and more, ms. */
const REFUSED_WAIT = 6_000
const LOOK = 250

export class BrokerHost implements Host {
  readonly process: SimProcess
  readonly #store: AskingStore
  readonly #broker: QueueBroker
  readonly #queues: readonly string[]
  readonly #width: number
  readonly #held = new Set<ActiveJob>()
  readonly #time: TimeContext
  #capacity: number
  #consumption: Consumption | undefined
  #isPaused = false
  /** It has begun to be, or is. */
  #isPausing = false
  #isClosing = false
  /** Jobs of which the store has said that somebody cancels them, by session, number and token. */
  readonly #toBeCancelled = new Set<string>()
  /** A job that it is to claim, and since when. */
  #refusedAt = Number.NEGATIVE_INFINITY
  #idle: { readonly key: string; readonly since: number; readonly stoppedFor: number } | undefined

  constructor(process: SimProcess, { queues, schedulers, width }: HostSettings) {
    this.process = process
    this.#queues = queues
    this.#width = width
    this.#capacity = width
    // The loop of the host goes on while its thread is at the disk.
    this.#time = {
      monotonic: () => process.monotonic(),
      wall: () => process.wall(),
      random: () => process.random(),
      after: (ms, fn) => process.inHost(ms, () => contexts.run(this.#time, fn)),
      block: () => {},
    }
    this.#store = new AskingStore(process)
    const hooks = new NodeHooks({ store: 'memory:', node: process.name, queues }, [], [])
    const onFatal = (error: Error): void => this.#checker.violate(`the broker of ${process.name} has failed: ${error.message}`)
    this.#broker = new QueueBroker(this.#store, { queues, name: process.name, schedulers, maxResultSize: 1_000, hooks, onFatal })
    const each = (notify: (session: AskingSession) => void): void =>
      contexts.run(this.#time, () => {
        for (const session of this.#store.sessions.values()) if (!session.lost.aborted) notify(session)
      })
    this.#store.onClaim = (max) => this.#claims(max)
    this.#broker.on('warning', () => {
      this.#refusedAt = this.process.machine.world.now
    })
    const { condition } = process.events
    process.events = {
      work: () => each((session) => session.wake()),
      settings: () => each((session) => session.settingsChanged()),
      condition: (now) => contexts.run(this.#time, () => condition(now)),
      lost: (session) => contexts.run(this.#time, () => this.#lost(session)),
      cancel: (session, lease) => contexts.run(this.#time, () => this.#cancelled(session, lease)),
    }
    this.#broker.control.onCommand(async (command) => {
      if (command.command === 'revoke') this.#revoke(String(command.key))
    })
    this.#later(0, () => this.#start())
    this.#later(this.#random.pick([500, 2_000]), () => this.#vary())
    this.#later(LOOK, () => this.#look())
  }

  get #random(): SimProcess['machine']['world']['random'] {
    return this.process.machine.world.random
  }

  get #checker(): SimProcess['machine']['checker'] {
    return this.process.machine.checker
  }

  #later(ms: number, fn: () => void): void {
    this.#time.after(ms, () => {
      if (!this.#isClosing) fn()
    })
  }

  #start(): void {
    this.#broker.start().then(
      () => {
        if (this.#isClosing) return
        this.#consumption ??= this.#broker.consume(
          this.#capacity,
          (delivery) => this.#receive(delivery),
          (queue) => this.#giveBack(queue),
        )
      },
      () => this.#later(300, () => this.#start()),
    )
  }

  /** Its node gets more or fewer workers, or takes no jobs for a while. */
  #vary(): void {
    const consumption = this.#consumption
    this.#later(this.#random.pick([500, 2_000]), () => this.#vary())
    if (consumption === undefined) return
    if (this.#random.chance(0.6)) {
      this.#capacity = this.#random.between(1, this.#width)
      consumption.setCapacity(this.#capacity)
    } else {
      this.#isPausing = true
      void consumption.pause().then(() => {
        if (this.#isClosing) return
        this.#isPaused = true
        this.#later(this.#random.pick([1, 300]), () => {
          this.#isPaused = false
          this.#isPausing = false
          consumption.resume()
        })
      })
    }
  }

  /** A claim that is the only one under way asks for all the room that there is. */
  #claims(max: number): void {
    const unsettled = [...this.#held].filter(({ settling }) => !settling).length
    const room = this.#capacity - unsettled
    this.#checker.check(max >= room, () => `${this.process.name} claims ${max} jobs, and has room for ${room}`)
  }

  /** While it has room it claims what waits, also after it has lost a session. */
  #look(): void {
    this.#later(LOOK, () => this.#look())
    const { machine, name, stoppedFor } = this.process
    const { world, checker } = machine
    const isWell = world.now >= Math.max(checker.quietUntil, this.#refusedAt + REFUSED_WAIT)
    const hasRoom = this.#consumption !== undefined && !this.#isPausing && this.#held.size < this.#capacity && isWell
    const job = hasRoom ? checker.claimable(this.#queues) : undefined
    const key = `${job?.seq} ${job?.token}`
    const idle = this.#idle
    if (job === undefined || idle?.key !== key || idle.stoppedFor !== stoppedFor)
      this.#idle = job === undefined ? undefined : { key, since: world.now, stoppedFor }
    else
      checker.check(
        world.now - idle.since <= MAX_IDLE,
        () => `${name} holds ${this.#held.size} jobs, has room for ${this.#capacity}, and has let ${job.id} wait for ${(world.now - idle.since).toFixed(0)} ms`,
      )
  }

  #cancelled(session: number, lease: Lease): void {
    this.#toBeCancelled.add(`${session} ${lease.seq} ${lease.token}`)
    this.#store.sessions.get(session)?.cancelled(lease)
  }

  #lost(session: number): void {
    this.#checker.coverage.add('broker: a session was lost')
    this.#store.sessions.get(session)?.lose()
  }

  // ---- deliveries

  #receive(delivery: Delivery): void {
    const checker = this.#checker
    const what = `${delivery.id} (${delivery.key}) comes to ${this.process.name}`
    const unsettled = [...this.#held].filter(({ settling }) => !settling)
    checker.check(unsettled.length < this.#capacity, () => `${what}, which holds ${unsettled.length}: it has room for ${this.#capacity}`)
    checker.check(!delivery.gone.aborted, () => `${what}, and its session is lost`)
    checker.check(!this.#isPaused, () => `${what}, which takes none`)
    const session = [...this.#store.sessions.values()].find(({ lost }) => lost === delivery.gone)!
    const held: ActiveJob = { delivery, session, stoppedFor: this.process.stoppedFor, begun: false, record: undefined, settling: false, isDecided: false }
    this.#held.add(held)
    delivery.gone.addEventListener('abort', () => this.#gone(held))
    // What it depended on was run here, or by a host that answers with 1.
    for (const [id, value] of Object.entries(delivery.results ?? {}))
      checker.check(value === id || value === 1, () => `${what} with the answer ${JSON.stringify(value)} of ${id}`)
    const { losses, requeues } = delivery.counts
    if (losses > MAX_LOSSES || requeues > MAX_REQUEUES) this.#settle(held, this.#dead(delivery, 'lost', undefined))
    else if ((delivery.returned ?? 0) < 2) this.#beginLater(held)
    else {
      delivery.beforeBegin!().then(
        () => this.#beginLater(held),
        () => this.#settle(held, { kind: 'requeue' }),
      )
    }
  }

  #beginLater(held: ActiveJob): void {
    this.#while(held, this.#random.pick([0, 0, 1, 10, 100, 5_000]), () => this.#begin(held))
  }

  /** While it is held, and neither gone nor being settled. */
  #while(held: ActiveJob, ms: number, fn: () => void): void {
    this.#later(ms, () => {
      if (this.#held.has(held) && !held.settling && !held.delivery.gone.aborted) fn()
    })
  }

  #begin(held: ActiveJob): void {
    const { delivery, session } = held
    if (held.isDecided) return
    const task = delivery.body.toString()
    if (task === 'release' && this.#random.chance(0.6)) {
      this.#settle(held, { kind: 'requeue' })
      return
    }
    const seq = Number(delivery.key)
    const wasStopped = this.process.stoppedFor !== held.stoppedFor
    const lease = { seq, token: session.tokens.get(seq)! }
    this.#checker.begins(this.process.name, lease, session.name, wasStopped ? undefined : GIVE_BACK, delivery.counts.losses + delivery.counts.requeues >= 2)
    const isCancelled = this.#toBeCancelled.has(`${session.id} ${lease.seq} ${lease.token}`)
    this.#checker.check(!isCancelled, () => `${delivery.id} (${seq}) begins in ${this.process.name}, which was told that somebody cancels it`)
    held.begun = true
    delivery.began?.(1)
    if (this.#random.chance(0.2)) {
      held.record = recordOf({ counts: delivery.counts, history: delivery.headers.history }, 1)
      delivery.began?.(2, held.record!.history)
    }
    if (this.#random.chance(0.1)) delivery.progress?.(1)
    if (task === 'poison') this.#later(this.#random.pick([0, 5, 50]), () => this.process.kill())
    else this.#while(held, task === 'slow' ? this.#random.between(200, 3_000) : this.#random.pick([0, 1, 5, 30]), () => this.#finish(held, task))
  }

  #finish(held: ActiveJob, task: string): void {
    const { delivery, record } = held
    const { counts, history } = record ?? { counts: delivery.counts, history: delivery.headers.history }
    const { attempt } = counts
    const fails = task === 'bad' || (task === 'flaky' && attempt < 3)
    if (!fails) this.#settle(held, { kind: 'acknowledge', ...recorded(held) })
    else if (attempt >= 3) this.#settle(held, this.#dead(delivery, 'failed', record))
    else
      this.#settle(held, {
        kind: 'republish',
        why: 'failed',
        error: ERROR,
        delay: this.#random.pick([0, 20, 300, 2_000]),
        counts: { ...counts, attempt: attempt + 1 },
        history,
      })
  }

  #dead({ counts, headers: { history } }: Delivery, reason: 'lost' | 'failed', record: RunRecord | undefined): Settlement {
    return { kind: 'dead-letter', reason, error: ERROR, counts, history, ...record }
  }

  /** A settlement that the store refuses is tried again while its claim stands. */
  #settle(held: ActiveJob, settlement: Settlement): void {
    const { delivery } = held
    held.settling = true
    held.isDecided = true
    Promise.resolve(delivery.settle(settlement, { ok: true, value: delivery.id })).then(
      ({ settled }) => {
        this.#held.delete(held)
        if (settled) this.#checker.coverage.add(`broker: ${settlement.kind}`)
      },
      () => {
        held.settling = false
        if (delivery.gone.aborted) this.#drop(held)
        else this.#while(held, 100, () => this.#settle(held, settlement))
      },
    )
  }

  /** What runs is ended. It may be done before that. */
  #gone(held: ActiveJob): void {
    if (held.settling || !this.#held.has(held)) return
    if (!held.begun) this.#drop(held)
    else
      this.#later(this.#random.pick([0, 50, 1_500]), () => {
        if (this.#random.chance(0.3)) this.#settle(held, { kind: 'acknowledge', ...recorded(held) })
        else this.#drop(held)
      })
  }

  #drop(held: ActiveJob): void {
    if (this.#held.delete(held)) held.delivery.ended?.()
  }

  #giveBack(queue: string): void {
    for (const held of this.#held) {
      if (held.begun || held.settling || held.delivery.queue !== queue) continue
      this.#checker.coverage.add('broker: a paused queue gets a job back')
      this.#settle(held, { kind: 'requeue' })
    }
  }

  #revoke(key: string): void {
    for (const held of this.#held) {
      if (held.delivery.key !== key) continue
      this.#checker.coverage.add('broker: a job is cancelled')
      // What has not begun ends at once.
      if (held.begun) this.#while(held, this.#random.pick([1, 50]), () => this.#settle(held, { kind: 'revoked', ...recorded(held) }))
      else if (!held.settling && !held.delivery.gone.aborted) this.#settle(held, { kind: 'revoked' })
    }
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    contexts.run(this.#time, () => {
      this.#broker.close().catch((error: Error) => this.#checker.violate(`the broker of ${this.process.name} does not close: ${error.message}`))
    })
  }
}

const recorded = ({ record }: ActiveJob): { readonly record?: RunRecord } | undefined => (record === undefined ? undefined : { record })
