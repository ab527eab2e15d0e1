import type { RunOptions } from '../pool/types.js'
import { MAX_TIMER } from '../util/limits.js'
import type { JobDelivery } from '../wire/messages.js'
import type { TaskOptions } from '../worker/tasks/define-task.js'
import type { ActiveJob, Target } from './active-job.js'
import type { Completion } from './completion.js'
import { ExpiredError, RedeliveredError } from './errors.js'
import { decodeJob, type JobMessage } from './message/job.js'
import { findPathTask, isHelper, looksLikePath, PATH_TASK, unknownTaskError } from './path-tasks/task-paths.js'
import { RateLimitQueue } from './rate-limits.js'
import type { RuntimeState } from './runtime-state.js'

/** A hard limit that is not above the soft limit is read as the soft limit plus this, ms. */
const HARD_AFTER_SOFT = 1_000

/** Takes a delivery to the pool: decodes it and checks expiry, revocation, the task's name and the rate limits. */
export class Admission {
  readonly #state: RuntimeState
  readonly #completion: Completion
  readonly #rateLimitQueue: RateLimitQueue<ActiveJob>
  /** The delivery object of the last submitted job. */
  #lastDelivery: JobDelivery | undefined

  constructor(state: RuntimeState, completion: Completion) {
    this.#state = state
    this.#completion = completion
    this.#rateLimitQueue = new RateLimitQueue(state.limits, (job) => this.check(job))
  }

  enter(job: ActiveJob): void {
    const { body } = job.deliveries[0]!
    let decoded: JobMessage | Promise<JobMessage>
    try {
      decoded = decodeJob(body, job.headers, { maxBodySize: this.#state.settings.maxBodySize })
    } catch (error) {
      this.#undecodable(job, error)
      return
    }
    if (!(decoded instanceof Promise)) this.#decoded(job, decoded)
    else {
      decoded.then(
        (message) => this.#decoded(job, message),
        (error: unknown) => this.#undecodable(job, error),
      )
    }
  }

  #undecodable(job: ActiveJob, error: unknown): void {
    if (job.phase === 'done') return
    if (job.deliveries.length === 0) this.#completion.forget(job)
    else this.#completion.deadLetter(job, 'undecodable', error)
  }

  #decoded(job: ActiveJob, message: JobMessage): void {
    if (job.phase === 'done') return
    job.message = message
    const [delivery] = job.deliveries
    if (delivery?.redelivered && delivery.countedHere) {
      this.#completion.republishUntried(job, new RedeliveredError(), 0)
      return
    }
    const { id, queue, counts } = job
    job.historyEntry = this.#state.tasks.add({
      id,
      name: job.name,
      queue,
      status: 'pending',
      counts,
      received: Date.now(),
      started: undefined,
      ended: undefined,
      duration: undefined,
      worker: undefined,
      error: undefined,
      logs: [],
    })
    if (this.#state.hasListeners) this.#state.report({ type: 'task.received', id, name: job.name, queue, counts })
    this.check(job)
  }

  /** Checks everything that may keep the job from beginning. Called again after each wait. */
  check(job: ActiveJob): void {
    const state = this.#state
    job.stopTimers()
    if (job.phase === 'done') return
    if (job.deliveries.length === 0) this.#completion.forget(job)
    else if (state.phase !== 'open') this.#completion.requeue(job)
    else if (job.expired) this.#completion.deadLetter(job, 'expired', new ExpiredError(job.headers.expiresAt))
    else if (state.revoked.has(job.id)) this.#completion.revoked(job)
    else if (job.target === undefined) this.#findTask(job)
    else if (!job.rateChecked) this.#awaitRateLimit(job)
    else this.#submit(job, job.target)
  }

  #findTask(job: ActiveJob): void {
    const { task, args, kwargs } = job.message!
    const { pool, settings } = this.#state
    const given = kwargs === undefined ? args : [...args, kwargs]
    const options = isHelper(task) ? undefined : pool.taskInfo(task)
    if (options !== undefined) {
      job.target = { name: task, args: given, options }
      this.check(job)
    } else if (settings.roots.length > 0 && looksLikePath(task)) this.#findPath(job, task, given)
    else this.#unknown(job)
  }

  #findPath(job: ActiveJob, task: string, args: readonly unknown[]): void {
    findPathTask(this.#state.settings.roots, task).then(
      async (found) => {
        if (found !== undefined) job.target = { name: PATH_TASK, args: [found.module, found.export, args], options: await this.#state.pathOptions.of(found) }
        if (found !== undefined || job.phase === 'done' || job.deliveries.length === 0) this.check(job)
        else this.#unknown(job)
      },
      (error: unknown) => {
        if (job.phase === 'done' || job.deliveries.length === 0) this.check(job)
        else this.#completion.deadLetter(job, 'refused', error)
      },
    )
  }

  #unknown(job: ActiveJob): void {
    this.#completion.unknownTask(job, unknownTaskError(this.#state.settings.roots, job.name, knownTasks(this.#state)))
  }

  #awaitRateLimit(job: ActiveJob): void {
    job.rateChecked = true
    job.phase = 'waiting'
    this.#rateLimitQueue.enter(job)
  }

  /** The job has ended, possibly while it waited for a rate limit. */
  leave(job: ActiveJob): void {
    this.#rateLimitQueue.leave(job)
  }

  /** A rate limit has changed: jobs that wait may begin. */
  limitsChanged(): void {
    this.#rateLimitQueue.check()
  }

  #submit(job: ActiveJob, { name, args, options }: Target): void {
    job.phase = 'submitted'
    const byPath = name === PATH_TASK
    const given = this.#runOptions(job, byPath ? options : {}, options.retryLost)
    const poolJob = this.#state.pool.submitFollowed(name, args, given, job, byPath ? job.name : undefined)
    job.poolJob = poolJob
    if (job.historyEntry !== undefined) job.historyEntry.source = poolJob
    const { expiresAt } = job.headers
    if (expiresAt !== undefined) job.expiry = setTimeout(() => withdraw(job, 'expired'), Math.min(expiresAt - Date.now(), MAX_TIMER)).unref()
  }

  /** One object for consecutive jobs with the same values: the pool encodes it once. */
  #deliveryOf({ deliveries, counts: { attempt, losses, requeues }, queue }: ActiveJob): JobDelivery {
    const redelivered = deliveries.some((each) => each.redelivered === true)
    const last = this.#lastDelivery
    if (
      last === undefined ||
      last.redelivered !== redelivered ||
      last.attempt !== attempt ||
      last.losses !== losses ||
      last.requeues !== requeues ||
      last.queue !== queue
    )
      this.#lastDelivery = Object.freeze({ redelivered, attempt, losses, requeues, queue })
    return this.#lastDelivery!
  }

  /** `pathOptions`: options of a task that the pool does not know itself. The message's own options win. */
  #runOptions(job: ActiveJob, pathOptions: TaskOptions, retryLost: number | undefined): RunOptions {
    const { headers, message } = job
    const { softTimeLimit, timeLimit } = headers
    const tooTight = softTimeLimit !== undefined && timeLimit !== undefined && timeLimit <= softTimeLimit
    const soft = softTimeLimit ?? pathOptions.softTimeLimit
    const hard = tooTight ? softTimeLimit + HARD_AFTER_SOFT : (timeLimit ?? pathOptions.timeLimit)
    return {
      id: job.id,
      context: message!.context,
      priority: headers.priority,
      // As in the pool: a soft limit above the hard one is dropped.
      softTimeLimit: soft !== undefined && hard !== undefined && soft > hard ? undefined : soft,
      timeLimit: hard,
      retryLost: this.#state.policy.retryLost(job, retryLost),
      delivery: this.#deliveryOf(job),
    }
  }
}

/** Withdraws a job from the pool if it has not begun. `intent` then decides its settlement. */
export const withdraw = (job: ActiveJob, intent: NonNullable<ActiveJob['intent']>): void => {
  if (job.poolJob === undefined || job.hasBegun) return
  job.intent ??= intent
  void job.poolJob.withdraw()
}

/** The names that a message may use. */
export const knownTasks = ({ pool }: Pick<RuntimeState, 'pool'>): string[] => pool.tasks.filter((name) => !isHelper(name))
