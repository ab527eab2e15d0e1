import { AsyncResource } from 'node:async_hooks'
import { type Channel, channel } from 'node:diagnostics_channel'
import { notify } from '../util/notify.js'
import type { PoolEvents } from './types.js'

const NAMES = [
  'workerStart',
  'workerUp',
  'workerExit',
  'workerFault',
  'jobSubmitted',
  'jobAccepted',
  'jobSettled',
  'jobRetried',
  'jobPutBack',
  'softTimeLimit',
  'jobLog',
  'output',
] as const satisfies readonly (keyof PoolEvents)[]

type Name = keyof PoolEvents
type Listener = (event: never) => void

/** Binds a listener to the async context in which it is added. */
export const inCallersContext = <F extends (...args: never[]) => unknown>(fn: F): F =>
  AsyncResource.bind(fn as unknown as (...args: unknown[]) => unknown) as unknown as F

/** Emits the pool's events to its listeners and to the diagnostics channels `prefork:<name>`. A listener that throws affects no job. */
export class EventHub {
  readonly #listeners = new Map<Name, Map<Listener, Listener>>()
  readonly #channels = new Map<Name, Channel>(NAMES.map((name) => [name, channel(`prefork:${name}`)]))
  readonly #pool: unknown

  constructor(pool: unknown) {
    this.#pool = pool
  }

  on<E extends Name>(name: E, listener: (event: PoolEvents[E]) => void): void {
    if (!this.#channels.has(name)) throw new TypeError(`There is no event '${String(name)}'; there are: ${NAMES.join(', ')}.`)
    if (typeof listener !== 'function') throw new TypeError(`pool.on('${name}', listener): the listener must be a function.`)
    const listeners = this.#listeners.get(name) ?? new Map<Listener, Listener>()
    listeners.set(listener as Listener, inCallersContext(listener) as Listener)
    this.#listeners.set(name, listeners)
  }

  off<E extends Name>(name: E, listener: (event: PoolEvents[E]) => void): void {
    const listeners = this.#listeners.get(name)
    listeners?.delete(listener as Listener)
    if (listeners?.size === 0) this.#listeners.delete(name)
  }

  /** False: there is no listener, so the event need not be built. */
  wants(name: Name): boolean {
    return this.#listeners.has(name) || this.#channels.get(name)!.hasSubscribers
  }

  emit<E extends Name>(name: E, event: PoolEvents[E]): void {
    const diagnostics = this.#channels.get(name)!
    if (diagnostics.hasSubscribers) diagnostics.publish({ pool: this.#pool, ...event })
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    for (const bound of [...listeners.values()]) notify(bound, event as never)
  }
}
