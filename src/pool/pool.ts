import { Hub } from '../hub/index.js'
import { closeTimeout, count, shown } from '../util/checks.js'
import { MAX_WORKERS } from '../util/limits.js'
import { type CpuProfile, DEFAULT_PROFILE_MS, MAX_PROFILE_MS } from '../wire/cpu-profile.js'
import { NO_WATCHDOG, type TaskInfo } from '../wire/messages.js'
import { closedError } from './errors.js'
import { EventHub } from './events.js'
import { FirstWorker } from './first-worker.js'
import { Fleet } from './fleet/fleet.js'
import { HealthMonitor } from './fleet/health-monitor.js'
import { Retirement } from './fleet/retirement.js'
import { Broadcast } from './jobs/broadcast.js'
import type { JobFollower, JobRecord } from './jobs/job.js'
import { JobLifecycle } from './jobs/job-lifecycle.js'
import { mapJobs, readMapOptions, type Source } from './jobs/map.js'
import { StreamConsumer } from './jobs/stream.js'
import { BROADCAST, broadcastTooWide, type CallKind, checkBroadcastOptions, MAP, queueFull, RUN, STREAM, SUBMIT, Submission } from './jobs/submission.js'
import type { AnyTasks, RunName, StreamName, TaskArgs, TaskItem, TaskName, TaskResult } from './jobs/task-types.js'
import type { Settings } from './options.js'
import { PoolState } from './pool-state.js'
import { Dispatcher } from './queue/dispatcher.js'
import { JobIntake } from './queue/job-intake.js'
import { QueueCapacity } from './queue/queue-capacity.js'
import { PoolShutdown } from './shutdown.js'
import { type PoolLoad, poolLoad, poolStats } from './stats.js'
import type { BroadcastOptions, CloseOptions, Job, MapOptions, PoolEvents, PoolStats, RunOptions } from './types.js'
import type { Launcher } from './worker/launch/launcher.js'
import { profileError } from './worker/lifeline.js'
import type { PoolWorker } from './worker/worker.js'
import { type PoolParts, WorkerEvents } from './worker/worker-events.js'

/** A pool of worker processes. Made by `createPool`; `T` is the type of the task module (`typeof import('./tasks.js')`). */
export class Pool<T = AnyTasks> implements AsyncDisposable {
  readonly #state: PoolState
  readonly #jobs: JobLifecycle
  readonly #submission: Submission
  readonly #intake: JobIntake
  readonly #capacity: QueueCapacity
  readonly #dispatcher: Dispatcher
  readonly #fleet: Fleet
  readonly #firstWorker: FirstWorker
  readonly #shutdown: PoolShutdown

  /** @internal Use `createPool`. */
  constructor(settings: Settings, makeLauncher: (poolId: string) => Launcher, hub: Hub = new Hub()) {
    const state = new PoolState(hub, settings, new EventHub(this))
    const launch = makeLauncher(state.id)
    const retirement = new Retirement(state)
    const capacity = new QueueCapacity(state)
    const jobs = new JobLifecycle(state, retirement, capacity)
    const firstWorker = new FirstWorker(state)
    const fleet = new Fleet(state, launch, jobs, retirement, firstWorker)
    const health = new HealthMonitor(state, fleet, retirement)
    const parts: PoolParts = { state, jobs, capacity, fleet, health, firstWorker }
    this.#state = state
    this.#jobs = jobs
    this.#submission = new Submission(state, jobs)
    this.#intake = new JobIntake(state, jobs)
    this.#capacity = capacity
    this.#dispatcher = new Dispatcher(state, jobs)
    this.#fleet = fleet
    this.#firstWorker = firstWorker
    this.#shutdown = new PoolShutdown(parts)
    hub.onTick(this.#tick)
    fleet.begin(new WorkerEvents(parts))
    state.oomKills.begin()
  }

  /** @internal Resolves when the first worker is up. */
  firstWorkerUp(): Promise<void> {
    return this.#firstWorker.wait()
  }

  // ---- jobs

  /**
   * Runs a task and resolves with its result. Never throws: every refusal is a rejection. A rejection that is not awaited raises no
   * unhandledRejection, unless the call is a mistake of the program: an unknown task, an unknown or refused option, `args` that is no array.
   * The event `jobSettled` shows each job that failed. A call that is refused (a mistake, an argument that cannot be copied, a full queue, a
   * closed pool) never becomes a job: its promise rejects, and there is no event, no log line and no count of it.
   *
   * @param name the task: the name under which a task module exports it
   * @param args its arguments; taken now, so later changes to them are not seen
   * @throws {TaskNotFoundError} no module exports it; nothing was written
   * @throws {SerializationError} an argument or the result cannot cross, or is over `maxMessageSize`
   * @throws {QueueFullError} `maxQueue` jobs are waiting
   * @throws {TimeLimitError} {SoftTimeLimitError} {MemoryLimitError} a limit was passed
   * @throws {WorkerLostError} the worker died; `accepted`: whether the task can have begun
   * @throws {PoolClosedError} the pool is closed
   */
  run<N extends RunName<T>>(name: N, ...rest: RunRest<T, N>): Promise<TaskResult<T, N>> {
    const packed = rest[1] === undefined ? this.#submission.pack(name, rest[0]) : undefined
    return (packed ?? this.#submit(RUN, name, rest[0], rest[1]).result) as Promise<TaskResult<T, N>>
  }

  /** As `run`, but returns the job itself: its state, its cancellation, its progress. */
  submit<N extends RunName<T>>(name: N, ...rest: RunRest<T, N>): Job<TaskResult<T, N>> {
    return this.#submit(SUBMIT, name, rest[0], rest[1]) as unknown as Job<TaskResult<T, N>>
  }

  /**
   * @internal As `submit`, for a caller that follows the job without promises. `endsWithin`: ms in which each attempt is to end, that of a worker that
   * died included; default as its limits say.
   */
  submitFollowed(name: string, args: readonly unknown[], options: RunOptions, follower: JobFollower, endsWithin?: number): JobRecord {
    const job = this.#submit(SUBMIT, name, args, options)
    if (endsWithin !== undefined) job.deadline = this.#state.hub.now() + endsWithin
    job.follow(follower)
    return job
  }

  /**
   * Runs a task once for each argument array that `source` yields, with bounded look-ahead, and iterates over the results.
   * A job's error, or leaving the loop, cancels what runs and calls the source's `return()`. A source that fails, or a pool that
   * is closed before the source's end, submits nothing more: the results of the jobs so far come first, then the error.
   */
  map<N extends RunName<T>>(
    name: N,
    source: Iterable<TaskArgs<T, N>> | AsyncIterable<TaskArgs<T, N>>,
    options?: MapOptions,
  ): AsyncIterableIterator<TaskResult<T, N>> {
    const { concurrency } = this.#state.settings
    const { ordered, ahead, run } = readMapOptions(name, source, options, 2 * this.#fleet.scale.max * concurrency)
    const { signal } = run as { signal?: AbortSignal }
    const capacity = this.#capacity.forMap(signal)
    return mapJobs((args) => this.#submit(MAP, name, args, run), source as Source, ordered, ahead, capacity) as AsyncIterableIterator<TaskResult<T, N>>
  }

  /**
   * Runs an async generator task and iterates over what it yields. The worker sends ahead by credit (16 items, 1 MiB), so a
   * slow consumer slows the generator. Leaving the loop cancels the job and runs the generator's `finally`. With
   * `retryLost`, it is run again only while no item has arrived.
   */
  stream<N extends StreamName<T>>(name: N, ...rest: RunRest<T, N>): AsyncIterableIterator<TaskItem<T, N>> {
    const job = this.#submission.make(STREAM, name, rest[0], rest[1])
    const refused = job.isSettled
    const consumer = new StreamConsumer<TaskItem<T, N>>(
      () => {
        if (refused) return job
        const state = this.#state
        const full = state.isFull()
        // The job is submitted when its first item is asked for. Its place in the job queue is that of the call.
        this.#intake.add(job, (each) => {
          each.inJobQueue = true
          state.jobQueue.putBack(each)
        })
        if (full) this.#jobs.fail(job, queueFull(state.settings.maxQueue))
        return job
      },
      (each) => this.#state.workers.get(each.holder),
    )
    job.items = consumer
    return consumer
  }

  /**
   * Runs a task once on every worker that is up, starting or about to be started, spare workers included, and resolves with one answer for each. No
   * worker runs it twice. In place of a worker that is replaced or dies meanwhile its successor runs it; without a successor that answer is
   * missing. With `min: 0` and no worker, one is started, and gives the only answer. Rejects with the first failure, once all have settled.
   */
  async broadcast<N extends RunName<T>>(name: N, ...rest: RunRest<T, N, BroadcastOptions>): Promise<TaskResult<T, N>[]> {
    const broadcast = new Broadcast()
    checkBroadcastOptions(name, rest[1])
    const places = this.#fleet.places(broadcast)
    const { settings } = this.#state
    this.#state.findAccepted()
    const { queued } = this.#state
    // All shares or none: otherwise some shares would run although the call rejects.
    if (queued + places.length > settings.maxQueue && places.length > 1) throw broadcastTooWide(name, rest[1], places.length, settings.maxQueue)
    const jobs = places.map((place) => {
      const job = this.#submission.make(BROADCAST, name, rest[0], rest[1])
      job.broadcast = broadcast
      if (!job.isSettled) this.#intake.add(job, place)
      return job
    })
    if (jobs.length === 0) return [await this.run(name, ...rest)]
    const outcomes = await Promise.allSettled(jobs.map((job) => job.result))
    const answers = outcomes.filter((_, i) => !broadcast.isUnanswered(jobs[i]!))
    const failed = answers.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return answers.map((outcome) => (outcome as PromiseFulfilledResult<TaskResult<T, N>>).value)
  }

  /** Resolves when there is room in the queue (`maxQueue`); rejects with `PoolClosedError` on close. */
  ready(): Promise<void> {
    return this.#capacity.ready()
  }

  // ---- workers

  /**
   * Sets the number of workers. Surplus workers are ended when their jobs have ended, which have as long as with `restart()`. An autoscaling
   * pool keeps its `min` (at most `n`), and its `max` becomes `n`.
   */
  resize(n: number): void {
    const workers = count('workers', n, 1, MAX_WORKERS)
    if (this.#state.phase !== 'open') throw closedError('pool.resize()')
    const { minWorkers, maxWorkers } = this.#state.settings
    if (minWorkers === maxWorkers) this.#fleet.scale.resize(workers, workers)
    else this.#fleet.scale.resize(Math.min(minWorkers, workers), workers)
  }

  /**
   * Replaces every worker, one after another, each by a successor that is up first. Its jobs end first: they have as long as their
   * `timeLimit`, or `drainTimeout` where they have none, and are lost then. Resolves when all are replaced.
   */
  restart(): Promise<void> {
    if (this.#state.phase !== 'open') return Promise.reject(closedError('pool.restart()'))
    this.#state.hub.hold()
    return this.#fleet.restart().finally(() => {
      if (this.#state.phase !== 'closed') this.#state.hub.release()
    })
  }

  /** The pool as it is now. Times in ms, sizes in bytes. */
  stats(): PoolStats {
    return poolStats(this.#state)
  }

  /** The names of the tasks. */
  get tasks(): readonly string[] {
    return [...this.#state.tasks.keys()]
  }

  /**
   * The JavaScript stack of worker `id` right now, read by its watchdog even during a busy loop; the text "the worker is gone" if it ends meanwhile. The
   * request alone does not keep an idle host alive.
   */
  stack(id: number): Promise<string> {
    try {
      return this.#livingWorker(id).lifeline.stack()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Samples for `ms` (1 to 60,000) what worker `id` executes, and resolves with a V8 CPU profile: as JSON in a file named `.cpuprofile`, Chrome DevTools
   * opens it. The worker runs on, and its jobs with their limits. There are up to 1,000 samples, at most one in each ms; the calls with the fewest
   * samples are left out of a profile of more than 4,000. Native code does not begin or end a profile: one that waits for it takes up to 5 s longer.
   * Until it settles, the host stays alive.
   *
   * @throws {RangeError} there is no such worker
   * @throws {TypeError} `ms` is something else
   * @throws {PreforkError} `ERR_PREFORK_PROFILE`: the worker ended meanwhile, is being profiled already, was in native code all the time, may not use the
   * inspector, or has no watchdog
   */
  async profile(id: number, ms: number = DEFAULT_PROFILE_MS): Promise<CpuProfile> {
    const { lifeline } = this.#livingWorker(id)
    const time = count('ms', ms, 1, MAX_PROFILE_MS)
    const { settings, hub } = this.#state
    if (!settings.watchdog) throw profileError(id, NO_WATCHDOG)
    hub.hold()
    try {
      return await lifeline.profile(id, time)
    } finally {
      if (this.#state.phase !== 'closed') hub.release()
    }
  }

  /**
   * Ends worker `id` now, by SIGKILL, and replaces it. What it was running is lost, or runs again where `retryLost` allows it;
   * `reason` is in the error and in the `workerExit` event.
   *
   * @throws {RangeError} there is no such worker
   */
  end(id: number, reason: string): void {
    if (typeof reason !== 'string' || reason === '') throw new TypeError("pool.end(id, 'reason'): say why, for the errors of its jobs.")
    const worker = this.#livingWorker(id)
    worker.killFor('killed by the pool', new Error(reason), 'caller')
  }

  /** @internal What a node scales by. `peakRunning` is that since the last call. */
  readonly load = (): PoolLoad => poolLoad(this.#state, this.#fleet.starting, this.#fleet.isIncomplete)

  /** @internal The options that `defineTask` gave a task. */
  taskInfo(name: string): Readonly<TaskInfo> | undefined {
    return this.#state.tasks.get(name)
  }

  on<E extends keyof PoolEvents>(event: E, listener: (event: PoolEvents[E]) => void): this {
    this.#state.events.on(event, listener)
    return this
  }

  off<E extends keyof PoolEvents>(event: E, listener: (event: PoolEvents[E]) => void): this {
    this.#state.events.off(event, listener)
    return this
  }

  // ---- the end

  /**
   * Finishes everything submitted so far, then stops the workers. With `timeout` (ms) what is not done by then is ended as
   * by `terminate()`. Calls made meanwhile reject with `PoolClosedError`.
   */
  close(options?: CloseOptions): Promise<void> {
    let timeout: number | undefined
    try {
      timeout = closeTimeout(options)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#shutdown.close(timeout)
  }

  /**
   * Stops now: every worker is killed; jobs that had not begun are cancelled, the others are lost; all reject with `PoolClosedError`, but for those
   * that are being cancelled (`cancel: 'ask'`): they reject with the reason of that.
   */
  terminate(): Promise<void> {
    return this.#shutdown.terminate()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // ---- internal

  #livingWorker(id: number): PoolWorker {
    const worker = this.#state.workers.get(id)
    if (worker?.alive) return worker
    if (typeof id !== 'number') throw new TypeError(`The id of a worker is a number, as pool.stats().workers lists them; not ${shown(id)}.`)
    const ids = [...this.#state.workers.values()].flatMap((each) => (each.alive ? each.id : []))
    throw new RangeError(`There is no worker ${id}; ${ids.length === 0 ? 'there are none' : `there are: ${ids.join(', ')}`}.`)
  }

  #submit(kind: CallKind, name: string, args: unknown, given: unknown): JobRecord {
    const job = this.#submission.make(kind, name, args, given)
    if (!job.isSettled) this.#intake.add(job)
    return job
  }

  readonly #tick = (): void => {
    const { phase } = this.#state
    if (phase === 'closed') return
    this.#fleet.balance()
    if (phase !== 'terminating') {
      this.#dispatcher.tick()
      if (this.#dispatcher.saturated) this.#fleet.growForBacklog()
    }
    this.#capacity.release()
    this.#shutdown.check()
  }
}

/** Arguments may be left out where the task takes none. */
export type RunRest<T, N extends TaskName<T>, O = RunOptions> =
  [] extends TaskArgs<T, N> ? [args?: TaskArgs<T, N>, options?: O] : [args: TaskArgs<T, N>, options?: O]
