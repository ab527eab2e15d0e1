/** A store as a host has it: each call crosses to the thread of its process, and is answered from there. What the code of the host calls. */
import { setMaxListeners } from 'node:events'
import { StoreError, type StoreErrorCode } from '../../../src/queue/store/errors.js'
import type { Operation } from '../../../src/queue/store/sqlite/protocol.js'
import type { Claim, Lease, Outcome, QueueState, SessionInfo, Store, StoreCondition, StoreSession } from '../../../src/queue/store/store.js'
import type { HistoryEntry } from '../../../src/runtime/delivery.js'
import type { SimProcess } from './process.js'

const notAsked = (): never => {
  throw new Error('The broker of a node does not ask for this.')
}

export class AskingStore implements Store {
  readonly kind = 'memory'
  readonly process: SimProcess
  /** By number. */
  readonly sessions = new Map<number, AskingSession>()
  readonly add = notAsked
  readonly alter = notAsked
  readonly find = notAsked
  readonly read = notAsked
  readonly counts = notAsked
  readonly sessionCount = notAsked
  readonly schedule = notAsked
  readonly schedules = notAsked
  readonly watch = notAsked
  /** Called with a claim that is the only one under way. */
  onClaim: (max: number) => void = () => {}
  claiming = 0
  #names = 0

  constructor(process: SimProcess) {
    this.process = process
  }

  ask<T>(operation: Operation): Promise<T> {
    return new Promise((resolve, reject) =>
      this.process.ask(operation, (answer) => {
        if ('value' in answer) resolve(answer.value as T)
        else reject(new StoreError(answer.failure.code as StoreErrorCode, answer.failure.message))
      }),
    )
  }

  async open(): Promise<void> {}

  async openSession({ schedulers }: SessionInfo): Promise<AskingSession> {
    const name = `${this.process.name}.${++this.#names}`
    const id = await this.ask<number>({ op: 'openSession', name, schedulers })
    const session = new AskingSession(this, id, name)
    this.sessions.set(id, session)
    return session
  }

  queue(name: string, set?: Partial<QueueState>): Promise<QueueState> {
    return this.ask(set === undefined ? { op: 'readQueue', name } : { op: 'queue', name, set })
  }

  onCondition(listener: (condition: StoreCondition) => void): () => void {
    this.process.events.condition = listener
    return () => {}
  }

  close(): Promise<void> {
    return this.ask({ op: 'close' })
  }
}

export class AskingSession implements StoreSession {
  readonly name: string
  /** The token of the last claim of each job. */
  readonly tokens = new Map<number, number>()
  readonly #store: AskingStore
  readonly id: number
  readonly #lost = new AbortController()
  cancelled: (lease: Lease) => void = () => {}
  wake: () => void = () => {}
  settingsChanged: () => void = () => {}

  constructor(store: AskingStore, id: number, name: string) {
    setMaxListeners(0, this.#lost.signal)
    this.#store = store
    this.id = id
    this.name = name
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  lose(): void {
    this.#lost.abort()
  }

  async claim(queues: readonly string[], max: number): Promise<Claim> {
    if (this.#store.claiming === 0) this.#store.onClaim(max)
    this.#store.claiming++
    const claim = await this.#store.ask<Claim>({ op: 'claim', session: this.id, queues, max }).finally(() => this.#store.claiming--)
    for (const { seq, token } of claim.jobs) this.tokens.set(seq, token)
    return claim
  }

  settle({ seq, token }: Lease, outcome: Outcome): Promise<boolean> {
    return this.#store.ask({ op: 'settle', session: this.id, lease: { seq, token }, outcome })
  }

  began({ seq, token }: Lease, beginnings = 1, atOnce = false, history?: readonly HistoryEntry[]): void {
    const lost = history === undefined ? undefined : { history }
    this.#store.process.ask({ op: 'began', session: this.id, lease: { seq, token }, beginnings, atOnce, ...lost })
  }

  beginning({ seq, token }: Lease): Promise<void> {
    return this.#store.ask({ op: 'began', session: this.id, lease: { seq, token }, beginnings: 1, atOnce: true })
  }

  progress({ seq, token }: Lease, value: Uint8Array): void {
    this.#store.process.ask({ op: 'progress', session: this.id, lease: { seq, token }, value })
  }

  onCancel(listener: (lease: Lease) => void): void {
    this.cancelled = listener
  }

  onWork(listener: () => void): void {
    this.wake = listener
  }

  onSettings(listener: () => void): void {
    this.settingsChanged = listener
  }

  close(): Promise<void> {
    return this.#store.ask({ op: 'closeSession', session: this.id })
  }
}
