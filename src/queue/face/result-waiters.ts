import { RemoteError } from '../../runtime/errors.js'
import { decodeReply } from '../../runtime/message/reply.js'
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../util/node-time.js'
import { bufferOf } from '../broker/outcome.js'
import { JobRemovedError, QueueClosedError, ResultTimeoutError } from '../errors.js'
import { isEnded } from '../store/ended-jobs.js'
import { isOver } from '../store/errors.js'
import type { Store, StoredJobData } from '../store/store.js'

/** ms between two looks at the jobs that are waited for: the store may not tell of an end in another process. */
const CHECK_INTERVAL = 1_000
/** ms after the start of a watch at which other processes know of it: an end that they did not tell of is found then. */
const WATCH_KNOWN = 50
/** ms for which the watch stays when nobody waits: whoever runs one job after the other does not pay for its start each time. */
const WATCH_KEPT = 5_000
/** Jobs of one look. */
const MAX_FOUND = 1_000

export interface ResultOptions {
  /** ms. Default none. */
  timeout?: number
  /** Ends the wait, not the job. Default none. */
  signal?: AbortSignal
}

interface Waiter {
  readonly id: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The result of a job that has ended. Throws RemoteError. */
export const resultOf = ({ state, answer, error }: StoredJobData): unknown => {
  if (state !== 'completed') throw new RemoteError(error!)
  const reply = decodeReply(bufferOf(answer!))
  if (!reply.ok) throw new RemoteError(reply.error)
  return reply.value
}

/** Waits for the ends of jobs, in whatever process they run. While it waits for one, it keeps the process alive. */
export class ResultWaiters {
  readonly #store: Store
  readonly #queue: string
  readonly #waiters = new Map<number, Set<Waiter>>()
  #unwatch: (() => void) | undefined
  #unwatchTimer: NodeJS.Timeout | undefined
  #interval: NodeJS.Timeout | undefined

  constructor(store: Store, queue: string) {
    this.#store = store
    this.#queue = queue
  }

  async wait(id: string, seq: number, { timeout, signal }: ResultOptions): Promise<unknown> {
    signal?.throwIfAborted()
    let timer: NodeJS.Timeout | undefined
    let aborted: (() => void) | undefined
    let waiter: Waiter | undefined
    try {
      return await new Promise((resolve, reject) => {
        waiter = { id, resolve, reject }
        this.#add(seq, waiter)
        if (timeout !== undefined) timer = setTimeout(() => reject(new ResultTimeoutError(id, timeout)), timeout)
        aborted = () => reject(signal!.reason)
        signal?.addEventListener('abort', aborted, { once: true })
        // After the start of the watch: an end in between is not missed.
        this.#look(id, seq).catch(reject)
      })
    } finally {
      clearTimeout(timer)
      if (aborted !== undefined) signal?.removeEventListener('abort', aborted)
      if (waiter !== undefined) this.#remove(seq, waiter)
    }
  }

  #add(seq: number, waiter: Waiter): void {
    const waiters = this.#waiters.get(seq) ?? new Set()
    waiters.add(waiter)
    this.#waiters.set(seq, waiters)
    clearTimeout(this.#unwatchTimer)
    if (this.#unwatch === undefined) {
      this.#unwatch = this.#store.watch((event) => {
        if (this.#waiters.has(event.seq) && event.type !== 'progress' && event.type !== 'active') this.#lookSafely(event.id, event.seq)
      })
      setTimeout(() => void this.#lookAtAll(), WATCH_KNOWN).unref()
    }
    this.#interval ??= setInterval(() => void this.#lookAtAll(), CHECK_INTERVAL)
  }

  #remove(seq: number, waiter: Waiter): void {
    const waiters = this.#waiters.get(seq)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#waiters.delete(seq)
    if (this.#waiters.size > 0) return
    clearInterval(this.#interval)
    this.#interval = undefined
    if (this.#unwatch !== undefined) this.#unwatchTimer = setTimeout(() => this.#stop(), WATCH_KEPT).unref()
  }

  #stop(): void {
    clearTimeout(this.#unwatchTimer)
    this.#unwatch?.()
    this.#unwatch = undefined
    clearInterval(this.#interval)
    this.#interval = undefined
  }

  /** A store that cannot be read just now is asked again. */
  #lookSafely(id: string, seq: number): void {
    this.#look(id, seq).catch((error: unknown) => this.#refused(error))
  }

  #refused(error: unknown): void {
    if (isOver(error)) this.#rejectAll(error)
  }

  async #look(id: string, seq: number): Promise<void> {
    const job = await this.#store.read(this.#queue, id)
    const waiters = this.#waiters.get(seq)
    if (waiters === undefined) return
    // Another job may have its id by now.
    if (job === undefined || job.seq !== seq) for (const { reject } of waiters) reject(new JobRemovedError(id))
    else if (isEnded(job.state)) for (const waiter of waiters) settle(waiter, job)
  }

  async #lookAtAll(): Promise<void> {
    const all = [...this.#waiters].map(([seq, waiters]) => ({ seq, id: [...waiters][0]!.id }))
    for (let at = 0; at < all.length; at += MAX_FOUND) {
      const some = all.slice(at, at + MAX_FOUND)
      const found = await this.#store
        .find({ queue: this.#queue, ids: some.map(({ id }) => id), limit: MAX_FOUND })
        .catch((error: unknown) => this.#refused(error))
      if (found === undefined) return
      const running = new Set(found.flatMap(({ seq, state }) => (isEnded(state) ? [] : seq)))
      for (const { id, seq } of some) if (!running.has(seq)) this.#lookSafely(id, seq)
    }
  }

  /** Rejects all that still wait. */
  close(): void {
    this.#rejectAll(new QueueClosedError())
    this.#stop()
  }

  #rejectAll(error: unknown): void {
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(error)
  }
}

const settle = ({ resolve, reject }: Waiter, job: StoredJobData): void => {
  try {
    resolve(resultOf(job))
  } catch (error) {
    reject(error)
  }
}
