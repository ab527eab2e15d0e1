import type { MessagePort } from 'node:worker_threads'
import type { Claim, Lease, StoreEvent } from '../../store.js'
import { type ConditionChange, type Failure, type PackedClaim, packClaim, type ToHost } from '../protocol.js'
import { failureOf } from './conditions.js'

/** What the host is to be told. It gathers, and goes as one message at the end of a turn: a message costs more than what is in it. */
export class HostMessages {
  readonly #port: MessagePort
  #done: number[] = []
  #answers: [number, unknown][] = []
  #claims: PackedClaim[] = []
  #failures: [number, Failure][] = []
  #events: StoreEvent[] = []
  #cancels: { session: number; lease: Lease }[] = []
  #lost: number[] = []
  #conditions: ConditionChange[] = []
  #work = false
  #settings = false
  #isPending = false

  constructor(port: MessagePort) {
    this.#port = port
  }

  answer(id: number, value: unknown): void {
    if (value === true) this.#done.push(id)
    else this.#answers.push([id, value])
    this.#isPending = true
  }

  claimed(id: number, claim: Claim): void {
    this.#claims.push(packClaim(id, claim))
    this.#isPending = true
  }

  fail(id: number, error: unknown): void {
    this.#failures.push([id, failureOf(error)])
    this.#isPending = true
  }

  events(events: readonly StoreEvent[]): void {
    for (const event of events) this.#events.push(event)
    this.#isPending ||= events.length > 0
  }

  work(): void {
    this.#work = true
    this.#isPending = true
  }

  settings(): void {
    this.#settings = true
    this.#isPending = true
  }

  cancel(session: number, lease: Lease): void {
    this.#cancels.push({ session, lease })
    this.#isPending = true
  }

  lost(session: number): void {
    this.#lost.push(session)
    this.#isPending = true
  }

  condition(change: ConditionChange): void {
    this.#conditions.push(change)
    this.#isPending = true
  }

  flush(): void {
    if (!this.#isPending) return
    const message: ToHost = {
      done: this.#done,
      answers: this.#answers,
      claims: this.#claims,
      failures: this.#failures,
      events: this.#events,
      cancels: this.#cancels,
      lost: this.#lost,
      conditions: this.#conditions,
      work: this.#work,
      settings: this.#settings,
    }
    this.#port.postMessage(message)
    this.#done = []
    this.#answers = []
    this.#claims = []
    this.#failures = []
    this.#events = []
    this.#cancels = []
    this.#lost = []
    this.#conditions = []
    this.#work = false
    this.#settings = false
    this.#isPending = false
  }

  /** A message of its own. */
  post(message: ToHost): void {
    this.#port.postMessage(message)
  }
}
