import { writeSync } from 'node:fs'
import { monotonic, setTimeout } from '../util/node-time.js'
import { withTimeout } from '../util/with-timeout.js'
import { guardedFile, sharedFile } from '../wire/arena/shared-file.js'
import { encode } from '../wire/codec/index.js'
import { FRAME_HEAD, JOB_HEAD } from '../wire/frame.js'
import { FD_MEMORY, FD_RECORD, Kind, SMALL_MESSAGE_MAX, type StartFailed, type WorkerConfig, type WorkerUp } from '../wire/messages.js'
import { captureOutput } from './io/capture.js'
import { catchFaults, faultReporter } from './io/faults.js'
import { NO_JOB } from './io/frame-output.js'
import { reportLoads } from './io/loaded-modules.js'
import { acceptanceRecord, readJobs, resultsPipe } from './io/pipes.js'
import { ResultPlaces } from './io/places.js'
import { residentMemory } from './io/resident-memory.js'
import { AsyncScope } from './jobs/async-scope.js'
import type { WorkerJob } from './jobs/job.js'
import { JobLoop } from './jobs/job-loop.js'
import type { LinkEvents, WatchdogLink } from './link.js'
import { raiseNiceness } from './niceness.js'
import { workerState } from './state.js'
import type { ImportModule, TaskRegistry } from './tasks/load.js'
import { loaded, loadTasks, runStartHooks, StartFailure } from './tasks/load.js'
import { killProcess } from './watchdog/lifeline.js'
import { startWatchdog } from './watchdog/thread-link.js'

/** Exit codes, as in sysexits.h. */
const EXIT_SOFTWARE = 70
const EXIT_START_FAILED = 1

/** When the functions of a start and of the first jobs have been compiled, for the code cache, ms. */
const CACHE_AFTER_MS = 1_000

/** How long the watchdog may take to disconnect the inspector, ms. */
const DETACH_MS = 200

/** Runs the worker from HELLO to BYE. */
export const main = (importModule: ImportModule, makeCodeCache?: () => void): void => {
  const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig
  // Tasks see no argument of this package in `process.argv`.
  process.argv.splice(2, 1)
  process.title = `prefork worker ${config.id}`
  ignoreSignals()
  new WorkerProcess(config, importModule).start()
  if (makeCodeCache !== undefined && config.id === 1) inQuietTime(makeCodeCache)
}

/** Once: when a start and the first jobs are over, or at the exit. */
const inQuietTime = (make: () => void): void => {
  let isMade = false
  const makeOnce = (): void => {
    if (isMade) return
    isMade = true
    make()
  }
  setTimeout(makeOnce, CACHE_AFTER_MS).unref()
  process.once('exit', makeOnce)
}

/** The host alone ends a worker: it answers a terminal's Ctrl-C, or the SIGTERM of a control group. Listeners of the tasks still run. */
const ignoreSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
}

class WorkerProcess {
  readonly #config: WorkerConfig
  readonly #import: ImportModule
  readonly #scope = new AsyncScope()
  readonly #state = workerState()
  readonly #loop: JobLoop
  readonly #link: WatchdogLink
  readonly #report: ReturnType<typeof faultReporter>
  #up = false

  constructor(config: WorkerConfig, importModule: ImportModule) {
    this.#config = config
    this.#import = importModule
    const { jobStart, jobEnd } = this.#state
    const events: LinkEvents = {
      onCancel: (delivery, reason, asked) => this.#loop.onCancel(delivery, reason, asked),
      onSoftLimit: (delivery, limit) => this.#loop.onSoftLimit(delivery, limit),
      onInterrupted: (delivery, cause, stack) => this.#loop.onInterrupted(delivery, cause, stack),
      onWake: () => this.#loop.onWake(),
    }
    this.#link = startWatchdog(config, events)
    this.#loop = new JobLoop({
      config,
      write: resultsPipe((error) => {
        this.#link.resultsLost?.(error)
        killProcess(config.killTree)
      }),
      record: config.record ? acceptanceRecord() : undefined,
      places: config.placeBytes > 0 ? placesOf(config) : undefined,
      link: this.#link,
      clock: { now: monotonic, wall: () => Date.now(), later: (ms, fn) => void setTimeout(fn, ms).unref() },
      rss: residentMemory,
      scope: this.#scope,
      jobStart,
      jobEnd,
      onFinished: () => void this.#quit(),
      onBroken: (error) => broken(error),
      onFault: (error, job) => this.#report('uncaughtException', error, job),
    })
    this.#report = faultReporter(this.#loop.output, config.maxMessageSize)
  }

  start(): void {
    const { reports } = this.#loop
    const current = (): WorkerJob | undefined => this.#scope.current()
    const wanted = (): WorkerJob | undefined => {
      const job = current() ?? (this.#scope.enabled ? undefined : this.#onlyJob())
      // For a task that imports `prefork/worker` only when it runs, jobs are told apart from here on.
      this.#scope.enable()
      return job
    }
    this.#state.inWorker = true
    this.#state.current = () => {
      const job = wanted()
      return job === undefined ? undefined : reports.currentOf(job)
    }
    catchFaults(this.#report, current)
    if (this.#config.output === 'capture') {
      this.#scope.enable()
      captureOutput((stream, text) => reports.write(current(), stream, text))
    }
    process.on('exit', () => this.#onExit())
    readJobs((chunk) => this.#loop.receive(chunk))
    reportLoads(this.#loop.output)
    this.#load().then((registry) => this.#announce(registry), failed(this.#loop))
  }

  #onlyJob(): WorkerJob | undefined {
    const { running } = this.#loop
    return running.length === 1 ? running[0] : undefined
  }

  async #load(): Promise<TaskRegistry> {
    const { tasks } = this.#config
    const registry = await loadTasks(tasks, this.#import)
    await runStartHooks(tasks)
    loaded()
    // Not earlier: beside a busy host, modules would load slowly at a low priority. The watchdog's thread and those of V8 were created before this, and
    // keep the priority of the host. Where the kernel shares the CPU by session, the value holds for the whole worker, and it may come a little later.
    // Not later than here: a worker that is up has the priority that its jobs have.
    raiseNiceness(this.#config.niceness)
    return registry
  }

  #announce(registry: TaskRegistry): void {
    if (this.#state.contextWanted) this.#scope.enable()
    const up: WorkerUp = { pid: process.pid, tasks: registry.infos(), rss: residentMemory(), places: this.#config.placeBytes > 0 }
    this.#up = true
    this.#send(Kind.WORKER_UP, up)
    this.#loop.start(registry)
  }

  /** Every job has settled. While the tasks still load, no stop hook is run. */
  async #quit(): Promise<void> {
    if (this.#up) {
      for (const hook of this.#state.stop.reverse()) {
        try {
          await hook()
        } catch (error) {
          this.#report('uncaughtException', error, undefined)
        }
      }
    }
    // A thread that does not answer must not keep the process alive.
    await withTimeout(Promise.resolve(this.#link.detach?.()), DETACH_MS, () => {})
    this.#loop.output.putHead(Kind.BYE, 0, NO_JOB)
    this.#loop.output.flush()
    process.exit(0)
  }

  /** Sends unfinished lines, whatever ends the process in JavaScript. */
  #onExit(): void {
    for (const job of this.#loop.running) this.#loop.reports.flush(job)
    this.#loop.reports.flushStray()
    this.#link.exiting?.()
  }

  #send(kind: Kind, value: unknown): void {
    this.#loop.output.put(kind, 0, NO_JOB, encode(value, FRAME_HEAD, { replaceUnsendable: true }))
    this.#loop.output.flush()
  }
}

const placesOf = ({ placeBytes, maxMessageSize }: WorkerConfig): ResultPlaces =>
  new ResultPlaces(sharedFile(FD_MEMORY), guardedFile(FD_RECORD), placeBytes, Math.max(maxMessageSize, SMALL_MESSAGE_MAX) + JOB_HEAD)

const failed =
  (loop: JobLoop) =>
  (failure: unknown): void => {
    const payload: StartFailed = failure instanceof StartFailure ? { module: failure.module, error: failure.cause } : { module: 'prefork', error: failure }
    loop.output.put(Kind.START_FAILED, 0, NO_JOB, encode(payload, FRAME_HEAD, { replaceUnsendable: true }))
    loop.output.flush()
    process.exit(EXIT_START_FAILED)
  }

/** The host quotes this line in the error of the jobs that are lost with this worker. */
const broken = (error: unknown): never => {
  writeSync(2, `prefork: the worker cannot go on: ${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(EXIT_SOFTWARE)
}
