import type { RunOptions } from '../pool/types.js'
import type { JobDelivery } from '../wire/messages.js'
import type { TaskOptions } from '../worker/tasks/define-task.js'
import type { ActiveJob, Target } from './active-job.js'
import type { Completion } from './completion.js'
import { ExpiredError, RedeliveredError } from './errors.js'
import { decodeJob, type JobMessage } from './message/index.js'
import { findPathTask, isHelper, looksLikePath, PATH_TASK, unknownBelow } from './path-tasks/task-paths.js'
import { RateLimitQueue } from './rate-limit-queue.js'
import type { RuntimeState } from './runtime-state.js'

/** Longest delay of a timer, ms. */
const MAX_TIMER = 0x7fff_ffff
/** A hard limit that is not above the soft one is read as the soft one and so much more, ms. */
const HARD_AFTER_SOFT = 1_000

/** What stands between a delivery and the pool: decoding, expiry, revocation, the task's name, the rate limits. */
export class Admission {
  readonly #state: RuntimeState
  readonly #endings: Completion
  readonly #turns: RateLimitQueue<ActiveJob>
  /** Of the last job that was submitted. */
  #delivery: JobDelivery | undefined

  constructor(state: RuntimeState, endings: Completion) {
    this.#state = state
    this.#endings = endings
    this.#turns = new RateLimitQueue(state.limits, (held) => this.check(held))
  }

  enter(held: ActiveJob): void {
    const { body } = held.deliveries[0]!
    let decoded: JobMessage | Promise<JobMessage>
    try {
      decoded = decodeJob(body, held.headers, { maxBodySize: this.#state.settings.maxBodySize })
    } catch (error) {
      this.#undecodable(held, error)
      return
    }
    if (!(decoded instanceof Promise)) this.#decoded(held, decoded)
    else {
      decoded.then(
        (message) => this.#decoded(held, message),
        (error: unknown) => this.#undecodable(held, error),
      )
    }
  }

  #undecodable(held: ActiveJob, error: unknown): void {
    if (held.phase === 'done') return
    if (held.deliveries.length === 0) this.#endings.forget(held)
    else this.#endings.dead(held, 'undecodable', error)
  }

  #decoded(held: ActiveJob, message: JobMessage): void {
    if (held.phase === 'done') return
    held.message = message
    const [delivery] = held.deliveries
    if (delivery?.redelivered && delivery.countedHere) {
      this.#endings.untried(held, new RedeliveredError(), 0)
      return
    }
    const { id, queue, counts } = held
    held.entry = this.#state.tasks.add({
      id,
      name: held.name,
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
    if (this.#state.heard) this.#state.report({ type: 'task.received', id, name: held.name, queue, counts })
    this.check(held)
  }

  /** Whatever keeps it from beginning is looked at anew: also after a wait. */
  check(held: ActiveJob): void {
    const state = this.#state
    held.stopTimers()
    if (held.phase === 'done') return
    if (held.deliveries.length === 0) this.#endings.forget(held)
    else if (state.phase !== 'open') this.#endings.requeue(held)
    else if (held.expired) this.#endings.dead(held, 'expired', new ExpiredError(held.headers.expiresAt))
    else if (state.revoked.has(held.id)) this.#endings.revoked(held)
    else if (held.target === undefined) this.#findTask(held)
    else if (!held.admitted) this.#awaitTurn(held)
    else this.#submit(held, held.target)
  }

  // ---- the task

  #findTask(held: ActiveJob): void {
    const { task, args, kwargs } = held.message!
    const { pool, settings } = this.#state
    const given = kwargs === undefined ? args : [...args, kwargs]
    const options = isHelper(task) ? undefined : pool.taskInfo(task)
    if (options !== undefined) {
      held.target = { name: task, args: given, options }
      this.check(held)
    } else if (settings.roots.length > 0 && looksLikePath(task)) this.#findPath(held, task, given)
    else this.#unknown(held)
  }

  #findPath(held: ActiveJob, task: string, args: readonly unknown[]): void {
    findPathTask(this.#state.settings.roots, task).then(
      async (found) => {
        if (found !== undefined) held.target = { name: PATH_TASK, args: [found.module, found.export, args], options: await this.#state.pathOptions.of(found) }
        if (found !== undefined || held.phase === 'done' || held.deliveries.length === 0) this.check(held)
        else this.#unknown(held)
      },
      (error: unknown) => {
        if (held.phase === 'done' || held.deliveries.length === 0) this.check(held)
        else this.#endings.dead(held, 'refused', error)
      },
    )
  }

  #unknown(held: ActiveJob): void {
    this.#endings.unknown(held, unknownBelow(this.#state.settings.roots, held.name, knownTasks(this.#state)))
  }

  // ---- its turn

  #awaitTurn(held: ActiveJob): void {
    held.admitted = true
    held.phase = 'waiting'
    this.#turns.enter(held)
  }

  /** It has ended, perhaps before its turn came. */
  leave(held: ActiveJob): void {
    this.#turns.leave(held)
  }

  /** Those that wait may have their turn now. */
  limitsChanged(): void {
    this.#turns.look()
  }

  #submit(held: ActiveJob, { name, args, options }: Target): void {
    held.phase = 'submitted'
    const byPath = name === PATH_TASK
    const given = this.#runOptions(held, byPath ? options : {}, options.retryLost)
    const job = this.#state.pool.submitFollowed(name, args, given, held, byPath ? held.name : undefined)
    held.job = job
    if (held.entry !== undefined) held.entry.source = job
    const { expiresAt } = held.headers
    if (expiresAt !== undefined) held.expiry = setTimeout(() => takeBack(held, 'expired'), Math.min(expiresAt - Date.now(), MAX_TIMER)).unref()
  }

  /** One object for all that are alike, as most are: the pool encodes it once. */
  #deliveryOf({ deliveries, counts: { attempt, losses, requeues }, queue }: ActiveJob): JobDelivery {
    const redelivered = deliveries.some((each) => each.redelivered === true)
    const last = this.#delivery
    if (
      last === undefined ||
      last.redelivered !== redelivered ||
      last.attempt !== attempt ||
      last.losses !== losses ||
      last.requeues !== requeues ||
      last.queue !== queue
    )
      this.#delivery = Object.freeze({ redelivered, attempt, losses, requeues, queue })
    return this.#delivery!
  }

  /** `ofPath`: the options of a task that the pool does not know by itself; the message's own win. */
  #runOptions(held: ActiveJob, ofPath: TaskOptions, retryLost: number | undefined): RunOptions {
    const { headers, message } = held
    const { softTimeLimit, timeLimit } = headers
    const tooTight = softTimeLimit !== undefined && timeLimit !== undefined && timeLimit <= softTimeLimit
    const soft = softTimeLimit ?? ofPath.softTimeLimit
    const hard = tooTight ? softTimeLimit + HARD_AFTER_SOFT : (timeLimit ?? ofPath.timeLimit)
    return {
      id: held.id,
      context: message!.context,
      priority: headers.priority,
      // As in the pool: a soft limit above the hard one gives way.
      softTimeLimit: soft !== undefined && hard !== undefined && soft > hard ? undefined : soft,
      timeLimit: hard,
      retryLost: this.#state.policy.retryLost(held, retryLost),
      delivery: this.#deliveryOf(held),
    }
  }
}

/** Takes a job back from the pool if it has not begun; its end then decides by the intent. */
export const takeBack = (held: ActiveJob, intent: NonNullable<ActiveJob['intent']>): void => {
  if (held.job === undefined || held.begun) return
  held.intent ??= intent
  void held.job.withdraw()
}

/** The names that a message may use. */
export const knownTasks = ({ pool }: Pick<RuntimeState, 'pool'>): string[] => pool.tasks.filter((name) => !isHelper(name))
