import type { ShutdownReport } from '../../node/index.js'
import type { AnyTasks, RunName, TaskArgs, TaskResult } from '../../pool/jobs/task-types.js'
import { rateText } from '../../runtime/options.js'
import { countFrom, flag, nonEmptyString, objectWith, refusal, shown } from '../../util/checks.js'
import { QueueActiveError, QueueClosedError } from '../errors.js'
import type { AddOptions } from '../jobs/add-options.js'
import { flowJobs, MAX_JOBS } from '../jobs/flow.js'
import { scheduleKey, validName } from '../jobs/names.js'
import { namingJob, newJob, type TargetQueue } from '../jobs/new-job.js'
import { readClock } from '../store/clock-jumps.js'
import type { EndState } from '../store/ended-jobs.js'
import { type JobChange, type JobState, MAX_ALTERED, type NewJob, type Store, type StoredJob } from '../store/store.js'
import { type RunWorkerOptions, runQueue, type SET_BY_QUEUE } from './create-worker.js'
import { changeSelector, endStates, type JobQuery, selectorOf } from './job-query.js'
import { QueueEventListeners, type QueueEventName, type QueueEvents } from './queue-events.js'
import { QueueJob } from './queue-job.js'
import { ResultWaiters } from './result-waiters.js'
import { type QueueSchedule, type ScheduleOptions, shownSchedule, storedSchedule } from './schedules.js'

/** One job of `addBulk`. */
export type BulkJob<T = AnyTasks> = { [N in RunName<T>]: { task: N; args: TaskArgs<T, N>; options?: AddOptions } }[RunName<T>]

/** A job with those that it waits for. */
export type Flow<T = AnyTasks> = {
  [N in RunName<T>]: { task: N; args: TaskArgs<T, N>; options?: Omit<AddOptions, 'dedup'>; children?: readonly Flow<T>[] }
}[RunName<T>]

/** A schedule with its task. */
export type QueueScheduleOptions<T = AnyTasks> = ScheduleOptions & { [N in RunName<T>]: { task: N; args: TaskArgs<T, N> } }[RunName<T>]

export interface QueueSettings extends TargetQueue {
  /** The address of the store. */
  readonly address: string
}

const rateOf = (given: unknown): string => {
  try {
    return rateText('rate', given)
  } catch {
    const forms = "starts per second, minute or hour ('10/s', '600/m', '1000/h'), or null, which lifts the limit"
    throw new TypeError(`queue.limit(rate): the rate must be ${forms}; it was given ${shown(given)}.`)
  }
}

/** A queue in a store; made by `createQueue`. Its methods reject with StoreError when the store cannot do what they ask. */
export class Queue<T = AnyTasks> implements AsyncDisposable {
  readonly name: string
  readonly #settings: QueueSettings
  readonly #store: Store
  readonly #waiters: ResultWaiters
  readonly #events: QueueEventListeners
  #closing: Promise<void> | undefined

  /** @internal Use `createQueue`. */
  constructor(store: Store, settings: QueueSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#store = store
    this.#waiters = new ResultWaiters(store, settings.name)
    this.#events = new QueueEventListeners(store, settings.name)
  }

  // ---- adding

  /**
   * Adds a job. Resolves when it is stored: it outlives this process then.
   *
   * Rejects with TypeError (an option), SerializationError (an argument, or all of them too large) or StoreError.
   */
  async add<N extends RunName<T>>(task: N, args: TaskArgs<T, N>, options?: AddOptions): Promise<QueueJob<TaskResult<T, N>>> {
    const [job] = await this.#add([newJob('queue.add', this.#settings, task, args, options)])
    return job as QueueJob<TaskResult<T, N>>
  }

  /** Adds up to 10,000 jobs: all or none. One that depends on another comes after it. Rejects as `add`. */
  async addBulk(jobs: readonly BulkJob<T>[]): Promise<QueueJob[]> {
    if (!Array.isArray(jobs) || jobs.length > MAX_JOBS) throw refusal('jobs', `an array of at most ${MAX_JOBS} jobs { task, args, options }`, jobs)
    const clock = readClock()
    return this.#add(
      jobs.map((each: unknown, index) => {
        const path = `jobs[${index}]`
        const { task, args, options } = objectWith(path, each, ['task', 'args', 'options'])
        return namingJob(path, () => newJob(path, this.#settings, task, args, options, clock))
      }),
    )
  }

  /**
   * Adds a job and those that it waits for, up to 10,000: all or none. What its children return is in `currentJob().delivery.results`, by
   * their ids. Resolves with the job at the root. Rejects as `add`.
   */
  async addFlow(flow: Flow<T>): Promise<QueueJob> {
    return (await this.#add(flowJobs(this.#settings, flow))).at(-1)!
  }

  async #add(jobs: readonly NewJob[]): Promise<QueueJob[]> {
    const added = await this.#open.add(jobs)
    return added.map((each) => this.#handle(each))
  }

  #handle(job: { readonly id: string; readonly seq: number; readonly added: boolean }): QueueJob {
    return new QueueJob(this.#store, this.#waiters, this.name, job)
  }

  get #open(): Store {
    if (this.#closing !== undefined) throw new QueueClosedError()
    return this.#store
  }

  // ---- schedules

  /**
   * Stores a schedule: a job is added at each tick, once however many nodes there are. The same key replaces it; its next tick stays while
   * its timing does. Ticks need a node with `schedulers`.
   *
   * Rejects with TypeError: an option, a pattern or a time zone that cannot be read.
   */
  async schedule(key: string, schedule: QueueScheduleOptions<T>): Promise<void> {
    await this.#open.schedule(this.name, scheduleKey('key', key), storedSchedule(this.#settings, schedule))
  }

  /** Removes a schedule. Jobs that it has added stay. False: there was none. */
  async unschedule(key: string): Promise<boolean> {
    return await this.#open.schedule(this.name, scheduleKey('key', key), null)
  }

  async schedules(): Promise<QueueSchedule[]> {
    return (await this.#open.schedules(this.name)).map(shownSchedule)
  }

  // ---- settings

  /** No node begins a job of this queue from then on, until `resume`. It is stored. What runs goes on. */
  async pause(): Promise<void> {
    await this.#open.queue(this.name, { paused: true })
  }

  async resume(): Promise<void> {
    await this.#open.queue(this.name, { paused: false })
  }

  /** Limits the starts of all nodes together: '10/s', '600/m', '1000/h'; null lifts it. It is stored. */
  async limit(rate: string | null): Promise<void> {
    await this.#open.queue(this.name, { rate: rate === null ? null : rateOf(rate) })
  }

  async settings(): Promise<{ paused: boolean; rate: string | null }> {
    return await this.#open.queue(this.name)
  }

  // ---- jobs

  /** How many jobs there are in each state. */
  async counts(): Promise<Readonly<Record<JobState, number>>> {
    return (await this.#open.counts([this.name]))[this.name]!
  }

  /** The jobs that match, the oldest first; the next page begins `after` the `seq` of the last. */
  async jobs(query: JobQuery = {}): Promise<readonly StoredJob[]> {
    return await this.#open.find(selectorOf('queue.jobs', this.name, query))
  }

  /** A handle of a job that is there; undefined: there is none with this id. */
  async job<R = unknown>(id: string): Promise<QueueJob<R> | undefined> {
    const [job] = await this.#open.find({ queue: this.name, ids: [validName('id', id)] })
    return job === undefined ? undefined : (this.#handle({ id, seq: job.seq, added: false }) as QueueJob<R>)
  }

  /**
   * What has not begun ends at once. What runs is cancelled: the signal of its task aborts, and its worker is ended when that is not enough.
   * It ends as cancelled, also when its task returns meanwhile. Jobs that depend on it are not released. Resolves with the ids of those that
   * are cancelled now or are being cancelled.
   */
  cancel(jobs: string | readonly string[] | JobQuery): Promise<string[]> {
    return this.#alter('cancel', jobs)
  }

  /** Jobs that failed, expired or were cancelled wait again, with fresh attempts. Resolves with their ids. */
  retry(jobs: string | readonly string[] | JobQuery): Promise<string[]> {
    return this.#alter('retry', jobs)
  }

  /** Delayed jobs wait at once. Resolves with their ids. */
  promote(jobs: string | readonly string[] | JobQuery): Promise<string[]> {
    return this.#alter('promote', jobs)
  }

  /** Removes jobs that do not run. A job that depends on one which had not ended fails, or runs, as its option says. Resolves with their ids. */
  remove(jobs: string | readonly string[] | JobQuery): Promise<string[]> {
    return this.#alter('remove', jobs)
  }

  /**
   * Removes ended jobs: all of them, or those that ended longer than `age` ms ago and in these states. Resolves with their number. Rejects with
   * TypeError for a state that is no end: `drain` and `remove` remove what has not ended.
   */
  async clean(options: { age?: number; states?: readonly EndState[] } = {}): Promise<number> {
    // A misspelt option would remove more than was meant.
    const { age, states } = objectWith('options', options, ['age', 'states'])
    const endedBefore = age === undefined ? undefined : countFrom(0)('age', age)
    return (await this.remove({ states: endStates('states', states), ...(endedBefore === undefined ? undefined : { endedBefore }) })).length
  }

  /** Removes the jobs that wait, and with `delayed: true` those that are delayed. What runs goes on. Resolves with their number. */
  async drain(options: { delayed?: boolean } = {}): Promise<number> {
    const { delayed } = objectWith('options', options, ['delayed'])
    const waiting: JobState[] = ['waiting', 'blocked']
    const states = delayed !== undefined && flag('delayed', delayed) ? [...waiting, 'delayed' as const] : waiting
    // A job that waits for others goes before them, as it would fail with them, and stay. It was added after them.
    const blocked = (await this.#idsIn('blocked')).reverse()
    let removed = 0
    for (let from = 0; from < blocked.length; from += MAX_ALTERED)
      removed += (await this.#open.alter({ queue: this.name, ids: blocked.slice(from, from + MAX_ALTERED), states }, 'remove')).length
    return removed + (await this.remove({ states })).length
  }

  /** By their age, the oldest first. */
  async #idsIn(state: JobState): Promise<string[]> {
    const ids: string[] = []
    for (let after = 0; ; ) {
      const page = await this.#open.find({ queue: this.name, states: [state], after, limit: MAX_ALTERED })
      for (const { id } of page) ids.push(id)
      const last = page.at(-1)
      if (last === undefined) return ids
      after = last.seq
    }
  }

  /**
   * Removes every job, schedule and setting of the queue. Rejects with `ERR_PREFORK_QUEUE_ACTIVE` while a job is active, and changes nothing then.
   * `pause` the queue first where nodes run its jobs.
   */
  async obliterate(): Promise<void> {
    const store = this.#open
    const { paused } = await store.queue(this.name)
    // No job begins meanwhile.
    await store.queue(this.name, { paused: true })
    const { active } = await this.counts()
    if (active > 0) {
      await store.queue(this.name, { paused })
      throw new QueueActiveError(this.name, active)
    }
    for (const { key } of await store.schedules(this.name)) await store.schedule(this.name, key, null)
    await this.remove({})
    await store.queue(this.name, { paused: false, rate: null })
  }

  async #alter(change: JobChange, meant: unknown): Promise<string[]> {
    return [...(await this.#open.alter(changeSelector(`queue.${change}`, this.name, meant), change))]
  }

  // ---- running

  /** Runs the jobs of this queue in a node, until `signal` aborts or a command shuts it down. `tasks` is a module. Options and errors as `createWorker`. */
  async run(options: Omit<RunWorkerOptions, (typeof SET_BY_QUEUE)[number]>): Promise<ShutdownReport> {
    return await runQueue(options, { store: this.#settings.address, queue: this.name })
  }

  /** Calls `listener` with each event of the queue, of all processes, until the function that it returns is called. Best effort: the jobs tell the truth. */
  on<N extends QueueEventName>(event: N, listener: (event: QueueEvents[N]) => void): () => void {
    return this.#events.on(nonEmptyString('event', event) as N, listener)
  }

  /** Resolves when what was asked has been done. Results that are waited for reject. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#events.close()
      this.#waiters.close()
      await this.#store.close()
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
