import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Broker, Consumption, QueueBacklog } from '../../node/broker.js'
import { ControlSocket } from '../../node/control/control-socket.js'
import type { Delivery } from '../../runtime/delivery.js'
import { exponentialDelay } from '../../util/backoff.js'
import { isOver } from '../store/errors.js'
import type { Store, StoreCondition, StoreSession } from '../store/store.js'
import { Claims } from './claims.js'
import { QueueDelivery } from './delivery.js'
import type { NodeHooks } from './hooks.js'
import type { AnswerLimits } from './outcome.js'

/** The first and longest delay before another session is opened, ms. */
const FIRST_DELAY = 50
const MAX_DELAY = 5_000

export interface QueueBrokerSettings {
  readonly queues: readonly string[]
  /** The name of the node. */
  readonly name: string
  readonly schedulers: boolean
  /** Bytes. */
  readonly maxResultSize: number
  readonly hooks: NodeHooks
  /** The store cannot be used any more: the node is to end. */
  readonly onFatal: (error: Error) => void
}

/** A node's broker on a store: it claims jobs under one session, and settles each with its answer in one transaction. */
export class QueueBroker extends EventEmitter implements Broker {
  readonly kind: string
  readonly queues: readonly string[]
  readonly control: ControlSocket
  readonly #store: Store
  readonly #settings: QueueBrokerSettings
  readonly #limits: AnswerLimits
  #session: StoreSession | undefined
  #claims: Claims | undefined
  #giveBack: (queue: string) => void = () => {}
  /** Queues that are paused, as far as is known. */
  readonly #paused = new Set<string>()
  #condition: StoreCondition = 'ok'
  #hasFailed = false
  readonly #closed = new AbortController()

  constructor(store: Store, settings: QueueBrokerSettings) {
    super()
    this.kind = store.kind
    this.queues = settings.queues
    this.control = new ControlSocket(settings.name, (message) => this.emit('warning', message))
    this.#store = store
    this.#settings = settings
    this.#limits = {
      maxResultSize: settings.maxResultSize,
      onUnstorable: ({ id, queue }, why) => this.emit('warning', `The result of the job '${id}' of the queue '${queue}' is not stored. ${why}`),
    }
    store.onCondition((condition, error) => this.#onCondition(condition, error))
  }

  get connected(): boolean {
    return this.#session !== undefined && (this.#condition === 'ok' || this.#condition === 'full')
  }

  async connect(): Promise<void> {
    await this.#store.open()
    if (this.#store.file !== undefined) await this.control.open(this.#store.file)
  }

  /** Runs the start-up hooks first: when one fails, nothing was claimed. */
  async start(): Promise<void> {
    await this.#settings.hooks.start()
    await this.#openSession()
  }

  async #openSession(): Promise<void> {
    const { name, schedulers } = this.#settings
    const session = await this.#store.openSession({ name, schedulers })
    session.onCancel((lease) => this.#claims?.cancelled(lease))
    session.onWork(() => this.#claims?.wake())
    session.onSettings(() => this.#giveBackPaused().catch((error: unknown) => this.#refused(error)))
    session.lost.addEventListener('abort', () => void this.#lost(session), { once: true })
    this.#session = session
    this.#claims?.use(session)
    this.emit('connected')
    // It may be lost before its opener knows it.
    if (session.lost.aborted) void this.#lost(session)
  }

  async #lost(session: StoreSession): Promise<void> {
    if (this.#session !== session || this.#closed.signal.aborted) return
    this.#session = undefined
    this.#claims?.use(undefined)
    this.emit('disconnected', new Error('The session was taken for dead: its jobs run elsewhere, and a new one is opened.'))
    for (let failures = 1; !this.#closed.signal.aborted; failures++) {
      try {
        await this.#openSession()
        return
      } catch (error) {
        if (isOver(error)) {
          this.#fail(error as Error)
          return
        }
        this.emit('warning', `No session can be opened: ${(error as Error).message}`)
        await sleep(exponentialDelay(failures, FIRST_DELAY, MAX_DELAY), undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }

  /** What was claimed from a queue before it was paused, and has not begun, goes back. */
  async #giveBackPaused(): Promise<void> {
    for (const queue of this.queues) {
      const { paused } = await this.#store.queue(queue)
      if (!paused) this.#paused.delete(queue)
      else if (!this.#paused.has(queue)) {
        this.#paused.add(queue)
        this.#giveBack(queue)
      }
    }
  }

  #refused(error: unknown): void {
    if (!this.#closed.signal.aborted) this.emit('warning', `The store refuses: ${(error as Error).message}`)
  }

  consume(capacity: number, receive: (delivery: Delivery) => void, giveBack: (queue: string) => void = () => {}): Consumption {
    this.#giveBack = giveBack
    this.#claims = new Claims(this.queues, capacity, receive, {
      deliver: (job, session, claim) => new QueueDelivery(job, session, claim, this.#limits),
      cancel: (key) => this.#cancel(key),
      refused: (error) => this.#refused(error),
    })
    this.#claims.use(this.#session)
    return this.#claims
  }

  /** The runtime ends it as a revoked job. */
  #cancel(key: string): void {
    this.control
      .command({ command: 'revoke', key, terminate: true })
      .catch((error: Error) => this.emit('warning', `A job could not be cancelled: ${error.message}`))
  }

  #onCondition(condition: StoreCondition, error = new Error(`The store is ${condition}.`)): void {
    const wasConnected = this.connected
    this.#condition = condition
    if (condition === 'full') this.emit('warning', `No job is added or claimed, and what ends is stored when there is room. ${error.message}`)
    if (wasConnected && !this.connected) this.emit('disconnected', error)
    else if (!wasConnected && this.connected) this.emit('connected')
    if (condition === 'corrupt' || condition === 'removed') this.#fail(error)
    else this.#claims?.wake()
  }

  /** Once. */
  #fail(error: Error): void {
    if (this.#hasFailed || this.#closed.signal.aborted) return
    this.#hasFailed = true
    this.#settings.onFatal(error)
  }

  async depth(): Promise<number> {
    return (await this.backlog()).reduce((sum, { ready }) => sum + ready, 0)
  }

  /** Which queues the other nodes claim from is not stored: each counts for all of them. */
  async backlog(): Promise<QueueBacklog[]> {
    const [counts, sessions] = await Promise.all([this.#store.counts(this.queues), this.#store.sessionCount()])
    const states = await Promise.all(this.queues.map(async (queue) => ({ queue, ...(await this.#store.queue(queue)) })))
    return states.map(({ queue, paused }) => ({ queue, ready: paused ? 0 : counts[queue]!.waiting, share: 1 / Math.max(1, sessions) }))
  }

  async limit(queue: string, rate: string | null): Promise<void> {
    await this.#store.queue(queue, { rate })
  }

  async close(): Promise<void> {
    this.#closed.abort()
    // An operator that does not read must not keep the jobs from others.
    const controlClosed = this.control.close()
    await this.#claims?.stop()
    const warn = (what: string, error: unknown): void => void this.emit('warning', `${what}: ${error instanceof Error ? error.message : String(error)}`)
    // A store that has failed keeps neither the hooks from being called nor itself from being closed.
    await this.#session?.close().catch((error: unknown) => warn('The session could not be closed', error))
    this.#session = undefined
    await this.#settings.hooks.stop((error) => warn('A shutdown hook has failed', error))
    await this.#store.close()
    await controlClosed
  }
}
