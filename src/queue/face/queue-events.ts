import type { SerializedError } from '../../runtime/delivery.js'
import { decodeReply } from '../../runtime/message/reply.js'
import { refusal } from '../../util/checks.js'
import { notify } from '../../util/notify.js'
import { bufferOf } from '../broker/outcome.js'
import type { Store, StoredJobData, StoreEvent } from '../store/store.js'

interface JobEvent {
  readonly id: string
  readonly queue: string
}

/** What the listeners of a queue get. A value or an error is absent when the job is gone already, or went on meanwhile. */
export interface QueueEvents {
  waiting: JobEvent
  delayed: JobEvent
  active: JobEvent
  completed: JobEvent & { readonly value: unknown }
  failed: JobEvent & { readonly reason: string | undefined; readonly error: SerializedError | undefined }
  retrying: JobEvent & { readonly error: SerializedError | undefined; readonly runAt: number | undefined }
  expired: JobEvent
  cancelled: JobEvent
  /** Where a task reports faster than the store stores, values in between are left out. */
  progress: JobEvent & { readonly value: unknown }
  /** The process that ran it died, or was taken for dead. It runs again, unless that happened too often. */
  stalled: JobEvent
}

export type QueueEventName = keyof QueueEvents

const EVENT_NAMES: readonly string[] = [
  'waiting',
  'delayed',
  'active',
  'completed',
  'failed',
  'retrying',
  'expired',
  'cancelled',
  'progress',
  'stalled',
] satisfies QueueEventName[]

/** Events that tell more than what has happened: the job is read for them. */
const READ: readonly string[] = ['completed', 'failed', 'retrying', 'progress']

const decoded = (encoded: Uint8Array | undefined): unknown => {
  if (encoded === undefined) return undefined
  const reply = decodeReply(bufferOf(encoded))
  return reply.ok ? reply.value : undefined
}

const withDetails = ({ type, id, queue }: StoreEvent, job: StoredJobData | undefined): QueueEvents[QueueEventName] => {
  if (type === 'completed') return { id, queue, value: decoded(job?.answer) }
  if (type === 'progress') return { id, queue, value: decoded(job?.progress) }
  if (type === 'failed') return { id, queue, reason: job?.reason, error: job?.error }
  if (type === 'retrying') return { id, queue, error: job?.error, runAt: job?.runAt }
  return { id, queue }
}

/** The listeners of one queue. The store is watched while there is one. Events come in their order, after what they tell was stored. */
export class QueueEventListeners {
  readonly #store: Store
  readonly #queue: string
  readonly #listeners = new Map<string, Set<(event: never) => void>>()
  #unwatch: (() => void) | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(store: Store, queue: string) {
    this.#store = store
    this.#queue = queue
  }

  /** Throws TypeError for a name that no event has. */
  on<N extends QueueEventName>(name: N, listener: (event: QueueEvents[N]) => void): () => void {
    if (!EVENT_NAMES.includes(name)) throw refusal('event', EVENT_NAMES.map((each) => `'${each}'`).join(' or '), name)
    if (typeof listener !== 'function') throw refusal('listener', 'a function', listener)
    const added = (event: never): void => listener(event)
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(added)
    this.#unwatch ??= this.#store.watch((event) => {
      if (event.queue === this.#queue && this.#listeners.has(event.type)) this.#last = this.#last.then(() => this.#notify(event))
    })
    return () => {
      listeners.delete(added)
      if (listeners.size === 0) this.#listeners.delete(name)
      if (this.#listeners.size === 0) this.close()
    }
  }

  async #notify(event: StoreEvent): Promise<void> {
    const job = READ.includes(event.type) ? await this.#store.read(event.queue, event.id).catch(() => undefined) : undefined
    const details = withDetails(event, job?.seq === event.seq ? job : undefined)
    for (const listener of this.#listeners.get(event.type) ?? []) notify(listener, details as never)
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
  }
}
