import { performance } from 'node:perf_hooks'
import type { RunOptions } from '../../pool/types.js'
import { hardLimitAbove, MAX_JOB_NAME, MAX_TIMER } from '../../util/limits.js'
import { setTimeout } from '../../util/node-time.js'
import type { JobDelivery } from '../../wire/messages.js'
import type { Calls } from '../../worker/current-job.js'
import type { TaskOptions } from '../../worker/tasks/define-task.js'
import type { ActiveJob, Target } from '../active-job.js'
import { UnpackBudget } from '../collections/unpack-budget.js'
import type { Completion } from '../completion.js'
import { ExpiredError, LostTooOftenError, RedeliveredError } from '../errors.js'
import { isCompressed } from '../message/compression.js'
import { decodeJob, type JobMessage } from '../message/job.js'
import { findPathTask, isHelper, looksLikePath, PATH_TASK, unknownTaskError } from '../path-tasks/task-paths.js'
import { newRecord } from '../report/task-history.js'
import { nodeLosses, UNCOUNTED_RETURNS } from '../retry-policy.js'
import type { RuntimeState } from '../runtime-state.js'
import { Isolation } from './isolation.js'
import { RateLimitQueue } from './rate-limits.js'

/** Unpacked bodies may take so many times `maxBodySize` together. */
const UNPACKED_BODIES = 4

/** Takes a delivery to the pool: decodes it and checks expiry, revocation, the task's name and the rate limits. */
export class Admission {
  readonly #state: RuntimeState
  readonly #completion: Completion
  readonly #rateLimitQueue: RateLimitQueue<ActiveJob>
  readonly #unpackBudget: UnpackBudget<ActiveJob>
  readonly #isolation: Isolation<ActiveJob>
  /** Jobs that came back too often to be decoded beside others: decoding, too, may be what ended their nodes. */
  readonly #undecoded = new Set<ActiveJob>()
  /** The delivery object of the last submitted job. */
  #lastDelivery: JobDelivery | undefined
  /** Jobs that wait for a rate limit, as last reported. */
  #waiting = 0

  /** `giveBackOthers`: gives back whatever has not begun, besides this job. */
  constructor(state: RuntimeState, completion: Completion, giveBackOthers: (job: ActiveJob) => void) {
    this.#state = state
    this.#completion = completion
    this.#rateLimitQueue = new RateLimitQueue(state.limits, (job) => this.check(job))
    const { maxBodySize } = state.settings
    this.#unpackBudget = new UnpackBudget(UNPACKED_BODIES * maxBodySize, maxBodySize, (job) => this.#decode(job))
    this.#isolation = new Isolation(
      {
        settling: () => state.settler.size > 0,
        isOnlyJob: (job) => state.active.size === 1 && job.phase !== 'done',
        othersRun: (job) => state.active.values().some((each) => each !== job && each.phase === 'submitted'),
        begin: (job) => this.check(job),
        giveBack: (job) => completion.requeue(job),
        postpone: (job) => completion.republishUntried(job, new RedeliveredError(), state.policy.isolationDelay(job)),
        withdraw: (job) => (job.phase === 'preparing' ? completion.requeue(job) : job.withdraw('requeue')),
        giveBackOthers: (job) => {
          state.log?.warn({ job: job.id, task: job.name, returned: job.returned }, 'job came back again: it runs alone, as it may have ended its node')
          giveBackOthers(job)
        },
        intake: async (intake) => state.settings.onIntake(intake),
      },
      state.settings.memory,
    )
  }

  enter(job: ActiveJob): void {
    job.returned = this.#isolation.unexplained(job.key, job.returned)
    const { redelivered, countedHere } = job.deliveries[0]!
    if (redelivered && countedHere) this.#completion.republishUntried(job, new RedeliveredError(), 0)
    else if (job.returned < UNCOUNTED_RETURNS) this.#unpack(job)
    else {
      this.#undecoded.add(job)
      this.check(job)
    }
  }

  #unpack(job: ActiveJob): void {
    if (isCompressed(job.headers.contentEncoding)) {
      this.#unpackBudget.enter(job)
      this.#reportWaiting()
    } else this.#decode(job)
  }

  /** The job waits until others have ended, to be unpacked or decoded. */
  waitsUndecoded(job: ActiveJob): boolean {
    return this.#undecoded.has(job) || this.#unpackBudget.waits(job)
  }

  #decode(job: ActiveJob): void {
    const [delivery] = job.deliveries
    const { maxBodySize } = this.#state.settings
    let decoded: JobMessage | Promise<JobMessage>
    try {
      decoded = delivery!.decode?.() ?? decodeJob(delivery!.body, job.headers, { maxBodySize, unpacked: (bytes) => this.#unpackBudget.unpacked(job, bytes) })
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
    const { id, name, queue, counts } = job
    job.historyEntry = this.#state.tasks.add(newRecord(id, name, job), message)
    if (this.#state.hasListeners) this.#state.report({ type: 'task.received', id, name, queue, counts })
    this.check(job)
  }

  /** Checks everything that may keep the job from beginning. Called again after each wait. */
  check(job: ActiveJob): void {
    const state = this.#state
    job.stopTimers()
    if (job.phase === 'done') return
    if (job.deliveries.length === 0) this.#completion.forget(job)
    else if (job.isRevoked) this.#completion.revoked(job)
    else if (state.phase !== 'open') this.#completion.requeue(job)
    else if (job.expired) this.#completion.deadLetter(job, 'expired', new ExpiredError(job.headers.expiresAt))
    else if (state.revocations.apply(job)) this.#completion.revoked(job)
    else if (this.#undecoded.has(job)) this.#decodeAlone(job)
    else if (job.target === undefined) this.#findTask(job)
    // What is given back takes no token of a rate limit.
    else if (!job.rateChecked && !this.#isolation.refuses(job)) this.#awaitRateLimit(job)
    else if (this.#isolation.admit(job)) this.#submit(job, job.target)
  }

  #decodeAlone(job: ActiveJob): void {
    if (this.#isExhausted(job, this.#mostRetryLost) || !this.#isolation.admit(job)) return
    this.#undecoded.delete(job)
    const stored = job.deliveries.flatMap((delivery) => delivery.beforeBegin?.() ?? [])
    if (stored.length === 0) this.#unpack(job)
    else {
      Promise.all(stored).then(
        () => this.#unpackUnlessOver(job),
        (err: unknown) => {
          if (job.phase === 'done') return
          this.#state.log?.warn({ job: job.id, err }, 'the broker did not store that a job is about to begin: the job goes back')
          this.#completion.requeue(job)
        },
      )
    }
  }

  /** Its delivery may be gone, or the job withdrawn, since it was asked for. */
  #unpackUnlessOver(job: ActiveJob): void {
    if (job.phase === 'done') return
    if (job.deliveries.length === 0) this.#completion.forget(job)
    else this.#unpack(job)
  }

  #findTask(job: ActiveJob): void {
    const { task, args, kwargs } = job.message!
    const { pool, settings } = this.#state
    const given = kwargs === undefined ? args : [...args, kwargs]
    const options = isHelper(task) ? undefined : pool.taskInfo(task)
    if (options !== undefined) {
      this.#found(job, { name: task, args: given, options })
    } else if (settings.roots.length > 0 && looksLikePath(task)) this.#findPath(job, task, given)
    else this.#unknown(job)
  }

  #findPath(job: ActiveJob, task: string, args: readonly unknown[]): void {
    findPathTask(this.#state.settings.roots, task).then(
      async (found) => {
        const target = found && { name: PATH_TASK, args: [found.module, found.export, args], options: await this.#state.pathOptions.of(found) }
        if (job.phase === 'done' || job.deliveries.length === 0) this.check(job)
        else if (target === undefined) this.#unknown(job)
        else this.#found(job, target)
      },
      (error: unknown) => {
        if (job.phase === 'done' || job.deliveries.length === 0) this.check(job)
        else this.#completion.deadLetter(job, 'refused', error)
      },
    )
  }

  #found(job: ActiveJob, target: Target): void {
    job.target = target
    this.#state.ignoredOptions.checkOptions(job.name, target.options)
    if (!this.#isExhausted(job, target.options.retryLost)) this.check(job)
  }

  /** A job that was lost or returned too often before does not begin once more: it becomes a dead letter. */
  #isExhausted(job: ActiveJob, retryLost: number | undefined): boolean {
    const why = this.#state.policy.exhausted(job, retryLost)
    if (why === 'lost') {
      job.losses += nodeLosses(job)
      this.#completion.deadLetter(job, why, new LostTooOftenError(job.totalLosses))
    } else if (why !== undefined) this.#completion.deadLetter(job, why, new RedeliveredError())
    return why !== undefined
  }

  /** What the task of a job may have at most that is not decoded. Nothing is known of tasks that are found by their path. */
  get #mostRetryLost(): number {
    const { pool, settings } = this.#state
    if (settings.roots.length > 0) return Number.POSITIVE_INFINITY
    return Math.max(settings.maxLosses - 1, ...pool.tasks.map((name) => pool.taskInfo(name)?.retryLost ?? 0))
  }

  #unknown(job: ActiveJob): void {
    this.#completion.unknownTask(job, unknownTaskError(this.#state.settings.roots, job.name, knownTasks(this.#state)))
  }

  #awaitRateLimit(job: ActiveJob): void {
    job.rateChecked = true
    job.phase = 'waiting'
    this.#rateLimitQueue.enter(job)
    this.#reportWaiting()
    // One that is alone was decoded, and its node is not to wait for a rate.
    if (job.phase === 'waiting') this.#isolation.leave(job)
  }

  /** Jobs that wait for a rate limit, or to be unpacked: a node makes room for as many others. */
  #reportWaiting(): void {
    const size = this.#rateLimitQueue.size + this.#unpackBudget.size
    if (size === this.#waiting) return
    this.#waiting = size
    this.#state.settings.onWaiting(size)
  }

  /** The job runs. */
  began(job: ActiveJob): void {
    this.#isolation.began(job)
  }

  /** The job has ended, possibly while it waited for a rate limit, to be unpacked or to be alone. */
  leave(job: ActiveJob): void {
    this.#rateLimitQueue.leave(job)
    this.#unpackBudget.leave(job)
    this.#undecoded.delete(job)
    this.#reportWaiting()
    this.#isolation.leave(job)
  }

  /** So many deliveries of the job are gone, while the node lives: it knows why its message comes back. */
  deliveriesGone({ key, identity }: ActiveJob, deliveries: number): void {
    if (identity !== undefined) this.#isolation.explain(key, deliveries)
  }

  /** A rate limit has changed: jobs that wait may begin. */
  limitsChanged(): void {
    this.#rateLimitQueue.check()
    this.#reportWaiting()
  }

  #submit(job: ActiveJob, { name, args, options }: Target): void {
    job.phase = 'submitted'
    this.#reportWaiting()
    const byPath = name === PATH_TASK
    const given = this.#runOptions(job, byPath ? options : undefined, options.retryLost)
    const poolJob = this.#state.pool.submitFollowed(name, args, given, job, job.deadline === undefined ? undefined : job.deadline - performance.now())
    job.poolJob = poolJob
    if (job.historyEntry !== undefined) job.historyEntry.source = poolJob
    const { beginsWithin } = job
    if (beginsWithin !== undefined) job.expiry = setTimeout(() => job.withdraw('expired'), Math.min(beginsWithin, MAX_TIMER)).unref()
  }

  /** One object for consecutive jobs with the same values: the pool encodes it once. */
  #deliveryOf({ deliveries, counts: { attempt, losses, requeues }, queue, results, about }: ActiveJob): JobDelivery {
    const redelivered = deliveries.some((each) => each.redelivered === true)
    if (about !== undefined) return withFields({ redelivered, attempt, losses, requeues, queue }, about)
    if (results !== undefined) return { redelivered, attempt, losses, requeues, queue, results }
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

  /** `pathOptions`: options of a task that the pool knows by another name. The message's own options win. */
  #runOptions(job: ActiveJob, pathOptions: TaskOptions | undefined, retryLost: number | undefined): RunOptions {
    const { headers, message } = job
    const { softTimeLimit, timeLimit } = headers
    const soft = softTimeLimit ?? pathOptions?.softTimeLimit
    const hard = hardLimitAbove(softTimeLimit, timeLimit) ?? pathOptions?.timeLimit
    return {
      id: job.id,
      context: message!.context,
      priority: headers.priority,
      // As in the pool: a soft limit above the hard one is dropped.
      softTimeLimit: soft !== undefined && hard !== undefined && soft > hard ? undefined : soft,
      timeLimit: hard,
      retryLost: this.#state.policy.retryLost(job, retryLost),
      delivery: this.#deliveryOf(job),
      calls: callsOf(job),
      // Its room is free, and it may run anew, only when a run that this node ends has stopped.
      cancel: job.endWhenGone ? 'ask' : undefined,
      calledAs: pathOptions === undefined ? undefined : job.name.slice(0, MAX_JOB_NAME),
    }
  }
}

/** The delivery with the broker's fields, which replace none of its own. Object spread took 4 µs here. */
const withFields = (delivery: JobDelivery, about: Readonly<Record<string, unknown>>): JobDelivery => {
  const all = delivery as JobDelivery & Record<string, unknown>
  for (const name in about) if (!Object.hasOwn(all, name)) all[name] = about[name]
  return all
}

/** The functions of its broker that the task may call. */
const callsOf = (job: ActiveJob): Calls | undefined => {
  const names = Object.keys(job.deliveries[0]?.calls ?? {})
  if (names.length === 0) return undefined
  let [last] = job.deliveries
  const call = (name: string, args: unknown[]): unknown => {
    last = job.deliveries[0] ?? last
    return job.runInAsyncScope(last!.calls![name]!, undefined, ...args)
  }
  return Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => call(name, args)]))
}

/** The names that a message may use. */
export const knownTasks = ({ pool }: Pick<RuntimeState, 'pool'>): string[] => pool.tasks.filter((name) => !isHelper(name))
