import { writeSync } from 'node:fs'
import { encode } from '../wire/codec/index.js'
import { FRAME_HEAD, Kind, type StartFailed, type WorkerConfig, type WorkerUp } from '../wire/messages.js'
import { captureOutput } from './io/capture.js'
import { catchFaults, faultReporter } from './io/faults.js'
import { readJobs } from './io/jobs-pipe.js'
import { resultsPipe } from './io/results-pipe.js'
import { ignoreSignals } from './io/signals.js'
import { AsyncScope } from './jobs/async-scope.js'
import type { WorkerJob } from './jobs/job.js'
import { JobLoop } from './jobs/job-loop.js'
import type { LinkEvents, WatchdogLink } from './link.js'
import { loaded, loadTasks, runStartHooks, StartFailure } from './tasks/load.js'
import type { TaskRegistry } from './tasks/registry.js'
import { leave } from './watchdog/leave.js'
import { startWatchdog } from './watchdog/link.js'
import { workerState } from './worker-state.js'

/** Exit codes, as in sysexits.h. */
const EXIT_SOFTWARE = 70
const EXIT_START_FAILED = 1

/** How long the watchdog may take to let go of the inspector, ms. */
const DETACH_MS = 200

const NOBODY = { attempt: 0, delivery: 0, number: 0 } as const

/** The worker's life from HELLO to BYE. */
export const main = (): void => {
  const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig
  // Tasks that look at their arguments find none of ours.
  process.argv.splice(2, 1)
  process.title = `prefork worker ${config.id}`
  ignoreSignals()
  new WorkerProcess(config).start()
}

class WorkerProcess {
  readonly #config: WorkerConfig
  readonly #scope = new AsyncScope()
  readonly #state = workerState()
  readonly #loop: JobLoop
  readonly #link: WatchdogLink
  readonly #report: ReturnType<typeof faultReporter>
  #up = false

  constructor(config: WorkerConfig) {
    this.#config = config
    const { jobStart, jobEnd } = this.#state
    const events: LinkEvents = {
      onCancel: (delivery, reason) => this.#loop.onCancel(delivery, reason),
      onSoftLimit: (delivery, limit) => this.#loop.onSoftLimit(delivery, limit),
      onInterrupted: (delivery, cause, stack) => this.#loop.onInterrupted(delivery, cause, stack),
      onWake: () => this.#loop.onWake(),
    }
    this.#link = startWatchdog(config, events)
    this.#loop = new JobLoop({
      config,
      write: resultsPipe((error) => {
        this.#link.resultsLost?.(error)
        leave(config.killTree)
      }),
      link: this.#link,
      clock: { now: () => performance.now(), wall: () => Date.now(), later: (ms, fn) => void setTimeout(fn, ms).unref() },
      rss: () => process.memoryUsage.rss(),
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
    const asked = (): WorkerJob | undefined => {
      const job = current() ?? (this.#scope.enabled ? undefined : this.#onlyJob())
      // A task that imports `prefork/worker` only when it runs is told apart from here on.
      this.#scope.enable()
      return job
    }
    this.#state.inWorker = true
    this.#state.current = () => {
      const job = asked()
      return job === undefined ? undefined : reports.currentOf(job)
    }
    catchFaults(this.#report, current)
    if (this.#config.output === 'capture') {
      this.#scope.enable()
      captureOutput((stream, text) => reports.write(current(), stream, text))
    }
    process.on('exit', () => this.#lastWords())
    readJobs((chunk) => this.#loop.receive(chunk))
    this.#load().then((registry) => this.#announce(registry), failed(this.#loop))
  }

  #onlyJob(): WorkerJob | undefined {
    const { running } = this.#loop
    return running.length === 1 ? running[0] : undefined
  }

  async #load(): Promise<TaskRegistry> {
    const { tasks } = this.#config
    const registry = await loadTasks(tasks)
    await runStartHooks(tasks)
    loaded()
    return registry
  }

  #announce(registry: TaskRegistry): void {
    if (this.#state.contextWanted) this.#scope.enable()
    const up: WorkerUp = { pid: process.pid, tasks: registry.infos(), rss: process.memoryUsage.rss() }
    this.#up = true
    this.#send(Kind.WORKER_UP, up)
    this.#loop.start(registry)
  }

  /** Everything taken up is finished. While the tasks still load there is nothing to close. */
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
    // A thread that cannot answer must not keep the process from leaving.
    await Promise.race([this.#link.detach?.(), new Promise((resolve) => setTimeout(resolve, DETACH_MS))])
    this.#loop.output.putHead(Kind.BYE, 0, NOBODY)
    this.#loop.output.flush()
    process.exit(0)
  }

  /** Whatever ends the process in JavaScript: lines that wait for their end are sent. */
  #lastWords(): void {
    for (const job of this.#loop.running) this.#loop.reports.flush(job)
    this.#loop.reports.flushStray()
  }

  #send(kind: Kind, value: unknown): void {
    this.#loop.output.put(kind, 0, NOBODY, encode(value, FRAME_HEAD, { lenient: true }))
    this.#loop.output.flush()
  }
}

const failed =
  (loop: JobLoop) =>
  (failure: unknown): void => {
    const payload: StartFailed = failure instanceof StartFailure ? { module: failure.module, error: failure.cause } : { module: 'prefork', error: failure }
    loop.output.put(Kind.START_FAILED, 0, NOBODY, encode(payload, FRAME_HEAD, { lenient: true }))
    loop.output.flush()
    process.exit(EXIT_START_FAILED)
  }

/** The host reads this line in the error of the jobs that are lost with this worker. */
const broken = (error: unknown): never => {
  writeSync(2, `prefork: the worker cannot go on: ${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(EXIT_SOFTWARE)
}
