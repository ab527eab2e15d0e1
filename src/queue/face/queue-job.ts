import { decodeJob, type JobMessage, MAX_ENCODED_SIZE } from '../../runtime/message/job.js'
import { decodeReply } from '../../runtime/message/reply.js'
import { milliseconds, objectWith, refusal } from '../../util/checks.js'
import { bufferOf } from '../broker/outcome.js'
import type { JobChange, JobState, Store, StoredJob } from '../store/store.js'
import type { ResultOptions, ResultWaiters } from './result-waiters.js'

/** A job with what it was called with and what it has reported. */
export interface JobDetails extends StoredJob {
  readonly args: readonly unknown[]
  readonly context: unknown
  /** What it reported last. */
  readonly progress: unknown
}

const resultOptions = (given: unknown): ResultOptions => {
  const { timeout, signal } = objectWith('options', given, ['timeout', 'signal'])
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refusal('signal', 'an AbortSignal', signal)
  return { ...(timeout === undefined ? undefined : { timeout: milliseconds('timeout', timeout) }), ...(signal === undefined ? undefined : { signal }) }
}

/** A job in a queue, whoever added it. It outlives its handle: `queue.job(id)` makes another. */
export class QueueJob<R = unknown> {
  readonly id: string
  readonly queue: string
  /** Names this job and no other: an id may be used again once its job is removed. */
  readonly seq: number
  /** False: a job with this id, or the same `dedup` key, was there, and is what this names. */
  readonly added: boolean
  readonly #store: Store
  readonly #waiters: ResultWaiters

  /** @internal */
  constructor(store: Store, waiters: ResultWaiters, queue: string, job: { readonly id: string; readonly seq: number; readonly added: boolean }) {
    this.#store = store
    this.#waiters = waiters
    this.queue = queue
    this.id = job.id
    this.seq = job.seq
    this.added = job.added
  }

  /**
   * Resolves with what the task returned, in whatever process it runs, and also when it has ended long ago. A job that is retried is
   * waited for.
   *
   * Rejects with RemoteError (the task's error; `ERR_PREFORK_CANCELLED`, `ERR_PREFORK_EXPIRED` and `ERR_PREFORK_DEPENDENCY` among its
   * codes), with PreforkError `ERR_PREFORK_RESULT_TIMEOUT`, `ERR_PREFORK_JOB_REMOVED` or `ERR_PREFORK_QUEUE_CLOSED`, or with the reason of the signal.
   */
  async result(options: ResultOptions = {}): Promise<R> {
    return (await this.#waiters.wait(this.id, this.seq, resultOptions(options))) as R
  }

  /** Undefined: the job was removed, or is kept no longer. */
  async details(): Promise<JobDetails | undefined> {
    const job = await this.#store.read(this.queue, this.id)
    if (job === undefined || job.seq !== this.seq) return undefined
    const { body, answer: _, progress, ...rest } = job
    const { args, context } = decodeJob(bufferOf(body), BODY, { maxBodySize: MAX_ENCODED_SIZE }) as JobMessage
    const reported = progress === undefined ? undefined : decodeReply(bufferOf(progress))
    return { ...rest, args, context, progress: reported?.ok ? reported.value : undefined }
  }

  /** Undefined: the job was removed, or is kept no longer. */
  async state(): Promise<JobState | undefined> {
    return (await this.#found())?.state
  }

  async #found(): Promise<StoredJob | undefined> {
    const [job] = await this.#store.find({ queue: this.queue, ids: [this.id], seq: this.seq })
    return job
  }

  /** What has not begun ends at once; what runs is ended. False: the job has ended, is being cancelled, or is gone. */
  cancel(): Promise<boolean> {
    return this.#alter('cancel')
  }

  /** A job that failed, expired or was cancelled waits again, with fresh attempts. False: it did none of these. */
  retry(): Promise<boolean> {
    return this.#alter('retry')
  }

  /** A delayed job waits. False: it was not delayed. */
  promote(): Promise<boolean> {
    return this.#alter('promote')
  }

  /** Removes a job that does not run. False: it runs, or is gone. */
  remove(): Promise<boolean> {
    return this.#alter('remove')
  }

  async #alter(change: JobChange): Promise<boolean> {
    const changed = await this.#store.alter({ queue: this.queue, ids: [this.id], seq: this.seq }, change)
    return changed.length > 0
  }
}

const BODY = { contentType: undefined, contentEncoding: undefined, schemaVersion: 1 }
