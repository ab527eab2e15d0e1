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
  /** Events that were left out, as more came than could be read: `count` in all, `ends` of them ends of jobs. Read the jobs then. */
  dropped: { readonly queue: string; readonly count: number; readonly ends: number }
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
  'dropped',
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

/** Events whose jobs are read together. */
const READ_AT_ONCE = 32
/** Events that wait for their reads: above the first number those that are no end of a job are left out, above the second the others too. */
const MAX_BACKLOG = 10_000
const MAX_ENDS = 100_000

const ENDS: readonly string[] = ['completed', 'failed', 'expired', 'cancelled']

/**
 * The listeners of one queue. The store is watched while there is one. Events come in their order, after what they tell was stored.
 *
 * What comes faster than its jobs can be read waits. The backlog has a limit: what does not fit is counted, and told as `dropped`.
 */
export class QueueEventListeners {
  readonly #store: Store
  readonly #queue: string
  readonly #listeners = new Map<string, Set<(event: never) => void>>()
  #unwatch: (() => void) | undefined
  #backlog: StoreEvent[] = []
  /** Jobs whose progress waits to be read: the newest value is the one that is read. */
  readonly #progressing = new Set<number>()
  #dropped = { count: 0, ends: 0 }
  #draining = false

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
    this.#unwatch ??= this.#store.watch((event) => this.#take(event))
    return () => {
      listeners.delete(added)
      if (listeners.size === 0) this.#listeners.delete(name)
      if (this.#listeners.size === 0) this.close()
    }
  }

  #take(event: StoreEvent): void {
    if (event.queue !== this.#queue || !this.#listeners.has(event.type)) return
    const isEnd = ENDS.includes(event.type)
    if (event.type === 'progress' && this.#progressing.has(event.seq)) return
    if (this.#backlog.length >= (isEnd ? MAX_ENDS : MAX_BACKLOG)) {
      this.#dropped.count++
      if (isEnd) this.#dropped.ends++
      return
    }
    if (event.type === 'progress') this.#progressing.add(event.seq)
    this.#backlog.push(event)
    if (!this.#draining) void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#draining = true
    // What comes in the same turn goes with it.
    await Promise.resolve()
    while (this.#backlog.length > 0) {
      const events = this.#backlog.splice(0, READ_AT_ONCE)
      for (const { type, seq } of events) if (type === 'progress') this.#progressing.delete(seq)
      const jobs = await this.#read(events)
      for (const event of events) {
        const job = jobs.get(event.seq)
        this.#emit(event.type, withDetails(event, job?.seq === event.seq ? job : undefined))
      }
    }
    this.#draining = false
    this.#tellDropped()
  }

  /** In one turn, so the store reads all of them together. A job with several events is read once. */
  async #read(events: readonly StoreEvent[]): Promise<Map<number, StoredJobData | undefined>> {
    const wanted = new Map(events.filter(({ type }) => READ.includes(type)).map(({ seq, id }) => [seq, id]))
    const read = [...wanted].map(async ([seq, id]) => [seq, await this.#store.read(this.#queue, id).catch(() => undefined)] as const)
    return new Map(await Promise.all(read))
  }

  #emit(name: QueueEventName, event: QueueEvents[QueueEventName]): void {
    for (const listener of this.#listeners.get(name) ?? []) notify(listener, event as never)
  }

  /** The end of a job that is not told is never left out in silence. */
  #tellDropped(): void {
    const { count, ends } = this.#dropped
    if (count === 0) return
    this.#dropped = { count: 0, ends: 0 }
    if (ends > 0 && !this.#listeners.has('dropped'))
      process.emitWarning(
        `${ends} ends of jobs of the queue '${this.#queue}' were not told to its listeners: more came than were read. Read the jobs; queue.on('dropped') tells of it.`,
        'PreforkWarning',
      )
    this.#emit('dropped', { queue: this.#queue, count, ends })
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#backlog = []
    this.#progressing.clear()
  }
}
