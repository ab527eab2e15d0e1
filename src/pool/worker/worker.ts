import type { Deadline, Hub, Reader } from '../../hub/index.js'
import type { LostReason, PreforkError } from '../../wire/errors.js'
import type { FrameWriter } from '../../wire/frame-writer.js'
import { type Fault, type Hello, type LimitStage, type LogLine, PROTOCOL_VERSION, type StartFailed, type WorkerUp } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import { ExitDrain } from './exit-drain.js'
import { Heartbeats, Progress } from './health.js'
import { InFlightJobs } from './in-flight-jobs.js'
import type { LaunchedProcess, ProcessExit } from './launcher.js'
import { type KillReason, WorkerLifecycle } from './lifecycle.js'
import type { WorkerLifeline } from './lifeline.js'
import type { WorkerMessageHandler } from './message-decoder.js'
import { PhaseDeadline } from './phase-deadline.js'
import { type PipeName, type PipeSettings, WorkerPipes } from './pipes.js'
import { ReservedJobs } from './reserved-jobs.js'
import type { WorkerListener } from './worker-listener.js'

/** The end of a pipe can be seen this much before the exit that caused it, ms. */
const EXIT_NOTICE_MS = 200

export interface WorkerSettings extends PipeSettings {
  /** ms. */
  lostWorkerTimeout: number
  aliveTimeout: number
}

/** How one worker is started, beside the settings of all. */
export interface WorkerStart {
  readonly launched: LaunchedProcess
  /** Factor by which the start deadlines are multiplied. */
  readonly timeoutFactor: number
  readonly spare: boolean
  readonly predecessor: WorkerLifecycle | undefined
}

/** The parent's side of one worker process, from its start until everything that it had written is read. */
export class PoolWorker extends WorkerLifecycle implements WorkerMessageHandler {
  readonly startedAt: number
  readonly jobs = new InFlightJobs()
  readonly reserved = new ReservedJobs()
  readonly heartbeats: Heartbeats
  readonly progress = new Progress()
  readonly writer: FrameWriter
  /** The pipe between host and watchdog (descriptor 5); when it ends, the worker ends itself. */
  readonly lifeline: WorkerLifeline
  readonly readers: readonly Reader[]
  readonly #hub: Hub
  readonly #listener: WorkerListener<PoolWorker>
  readonly #settings: WorkerSettings
  readonly #process: LaunchedProcess
  readonly #timeoutFactor: number
  readonly #pipes: WorkerPipes
  readonly #results: Reader
  readonly #exitDrain: ExitDrain
  readonly #phaseDeadline: PhaseDeadline
  #drainDeadline: Deadline | undefined
  #upAt = 0
  #tasks = new Map<string, number>()
  #recalls = 0
  #startFailure: StartFailed | undefined
  #resultsDamaged = false
  /** It has announced that it writes no more results: nothing of what it did is unknown. */
  #resultsComplete = false

  constructor(
    readonly id: number,
    hub: Hub,
    listener: WorkerListener<PoolWorker>,
    settings: WorkerSettings,
    { launched, timeoutFactor, spare, predecessor }: WorkerStart,
  ) {
    super(spare, predecessor)
    this.#hub = hub
    this.#listener = listener
    this.#settings = settings
    this.#process = launched
    this.#timeoutFactor = timeoutFactor
    this.startedAt = hub.now()
    this.heartbeats = new Heartbeats(this.startedAt)
    const pipes = new WorkerPipes(
      hub,
      launched,
      settings,
      this,
      (pipe, error) => this.#pipeEnded(pipe, error),
      (line) => this.log(this.jobs.running.size === 1 ? this.jobs.running.oldest!.delivery : 0, [line]),
      () => this.#exitDrain.check(),
    )
    this.#pipes = pipes
    this.#results = pipes.results
    this.readers = pipes.readers
    this.writer = pipes.writer
    this.lifeline = pipes.lifeline
    this.#exitDrain = new ExitDrain(hub, launched, pipes.readers, pipes.output, () => listener.onOutputRead(this))
    this.#phaseDeadline = new PhaseDeadline(hub)
    this.#phaseDeadline.expect('HELLO', 2 * settings.aliveTimeout * timeoutFactor, pipes.results, this.#startTimedOut)
    launched.onExit((exit) => this.#exited(exit))
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** When it came up, ms on the hub's clock; 0: it never was. */
  get upAt(): number {
    return this.#upAt
  }

  /** The index of each task in its own table, by name. */
  get tasks(): ReadonlyMap<string, number> {
    return this.#tasks
  }

  /** RECALLs under way: no JOB is written until each is answered. */
  get recalls(): number {
    return this.#recalls
  }

  get startFailure(): StartFailed | undefined {
    return this.#startFailure
  }

  /** Its results could not be read to their end: a job that it had not given back may have begun. */
  get resultsDamaged(): boolean {
    return this.#resultsDamaged
  }

  /** Nothing is in flight, nothing waits for it, and no RECALL is under way. */
  get holdsNothing(): boolean {
    return this.jobs.inFlight === 0 && this.reserved.empty && this.#recalls === 0
  }

  get stderr(): string {
    return this.#pipes.output.tail.text
  }

  /** What was written to it is not yet all in the kernel. */
  get writing(): boolean {
    return this.#pipes.writing
  }

  /** The kernel's buffer is full: it does not read. */
  get blocked(): boolean {
    return this.#pipes.blocked
  }

  assign(job: JobRecord): void {
    this.jobs.write(job, this.id)
    this.#pipes.job(job, this.#tasks.get(job.task)!)
  }

  /** Writes what was gathered in this tick. */
  flush(): void {
    this.#pipes.flush()
    if (this.jobs.unflushed > 0 && !this.#pipes.writing) this.jobs.flushed()
  }

  pull(delivery: number, items: number, bytes: number): void {
    this.#pipes.pull(delivery, items, bytes)
  }

  /** Takes back everything written and not claimed. */
  recall(): void {
    if (this.#recalls > 0 || this.jobs.sent.size === 0) return
    this.#recalls++
    this.lifeline.recall(this.jobs.deliveries)
  }

  /** Cancels one job there; what was written and not claimed comes back too. */
  cancel(job: JobRecord, reason: unknown): void {
    this.#recalls++
    this.lifeline.cancel(job, this.jobs.deliveries, reason)
  }

  // No failure, mode `retiring`: `quit` by Fleet and Retirement once it holds nothing or the pool closes; `discard` by Fleet when the pool ends, and
  // by Retirement while it starts; `retire` in both, and at BYE. A failure unless `retiring`, the mode stays until `dead`: `killFor` by limits,
  // cancellation, Retirement, HealthMonitor, `pool.end`, a broken pipe or protocol. `kill` sends SIGKILL for them, and when the grace of `quit` is over.

  /** What ends its drain, unless it retires before. */
  drainUntil(deadline: Deadline): void {
    this.#drainDeadline = deadline
  }

  /** Has it exit, for it has nothing in flight; SIGKILL `graceMs` later. */
  quit(graceMs: number): void {
    if (!this.retire()) return
    this.#hub.cancel(this.#drainDeadline)
    this.#pipes.quit()
    this.#phaseDeadline.set(graceMs, this.readers, () => this.kill())
  }

  /** Kills it for a reason of the pool's own: no failure. */
  discard(): void {
    this.retire()
    this.#hub.cancel(this.#drainDeadline)
    this.kill()
  }

  /** Kills it for a reason that is in the errors of its jobs. The first reason stays. */
  killFor(reason: LostReason, error?: Error, cause?: KillReason['cause']): void {
    this.setKillReason(reason, error, cause)
    this.kill()
  }

  kill(): void {
    if (this.alive) this.#process.kill()
  }

  hello(hello: Hello): void {
    if (hello.protocol !== PROTOCOL_VERSION) {
      this.killFor('protocol', new Error(`The worker speaks version ${hello.protocol} of the protocol, this pool ${PROTOCOL_VERSION}.`))
      return
    }
    this.heartbeats.received(this.#hub.now())
    this.#phaseDeadline.expect('WORKER_UP', this.#settings.aliveTimeout * this.#timeoutFactor, this.#results, this.#startTimedOut)
  }

  up(up: WorkerUp): void {
    this.heartbeats.received(this.#hub.now())
    if (!this.comeUp()) return
    this.#phaseDeadline.cancel()
    this.heartbeats.measured(up.rss)
    this.#upAt = this.#hub.now()
    this.progress.cameUp(this.#upAt)
    this.#tasks = new Map(up.tasks.map((task, index) => [task.name, index]))
    this.#listener.onUp(this, up)
  }

  startFailed(failure: StartFailed): void {
    this.#startFailure = failure
  }

  accepted(delivery: number): void {
    const job = this.jobs.accept(delivery)
    this.progress.made(this.#results.at)
    this.#listener.onAccepted(this, job)
  }

  answered(delivery: number, flags: number, payload: Buffer, rss: number): void {
    const job = this.jobs.answer(delivery)
    this.heartbeats.measured(rss)
    this.progress.made(this.#results.at)
    this.#listener.onAnswered(this, job, flags, payload)
  }

  item(delivery: number, payload: Buffer): void {
    const job = this.jobs.running.get(delivery)
    if (job !== undefined) this.#listener.onItem(this, job, payload)
  }

  progressed(delivery: number, payload: Buffer): void {
    const job = this.jobs.running.get(delivery)
    if (job !== undefined) this.#listener.onProgress(this, job, payload)
  }

  log(delivery: number, lines: LogLine[]): void {
    this.#pipes.output.add(lines)
    this.#listener.onLog(this, this.jobs.running.get(delivery), lines)
  }

  fault(fault: Fault): void {
    this.#listener.onFault(this, fault, this.jobs.running.get(fault.delivery ?? 0))
  }

  bye(): void {
    this.retire()
  }

  heartbeat(rss: number, mainAge: number): void {
    this.heartbeats.beat(this.#hub.now(), rss, mainAge)
    this.#listener.onHeartbeat(this)
  }

  recalled(claimed: number, upTo: number): void {
    this.heartbeats.received(this.#hub.now())
    if (this.#recalls > 0) this.#recalls--
    this.#listener.onRecalled(this, this.jobs.recalled(claimed, upTo))
  }

  stackReceived(request: number, text: string): void {
    this.lifeline.stackReceived(request, text)
  }

  limit(delivery: number, stage: LimitStage, stack: string): void {
    this.heartbeats.received(this.#hub.now())
    this.#listener.onLimit(this, delivery, stage, stack)
  }

  /** It cannot send its results any more. What it had written is whole: what it had not accepted has not begun. */
  broken(why: string): void {
    this.#resultsComplete = true
    this.killFor('protocol', new Error(why))
  }

  readonly #startTimedOut = (error: PreforkError): void => {
    if (this.isStarting) this.killFor('killed by the pool', error, 'start timeout')
  }

  #pipeEnded(pipe: PipeName, error?: Error): void {
    if (this.#exitDrain.done) return
    // What comes over this pipe can be trusted no more.
    if (pipe === 'results' && error !== undefined) this.#resultsDamaged = true
    if (this.alive && !this.isRetiring) {
      // A damaged pipe is never used again. Usually the worker has exited and the exit event follows, which has the cause.
      this.markPipeBroken()
      this.drain('damaged')
      // The watchdog knows what was claimed.
      if (pipe === 'results') this.recall()
      const kill = (): void => {
        if (!this.alive) return
        if (pipe === 'results' && !this.#resultsComplete) this.#resultsDamaged = true
        this.killFor(pipe === 'jobs' ? 'write failed' : 'protocol', error ?? new Error(`its ${pipe} pipe was closed.`))
      }
      this.#hub.deadlineAfterRead(EXIT_NOTICE_MS, () => this.readers, kill)
      this.#listener.onDamaged(this)
    }
    this.#exitDrain.check()
  }

  #exited(exit: ProcessExit): void {
    this.die(exit)
    this.#phaseDeadline.cancel()
    this.#hub.cancel(this.#drainDeadline)
    this.#process.killRest()
    this.#pipes.stop()
    this.#listener.onExit(this)
    this.#exitDrain.begin(exit.error === undefined ? this.#settings.lostWorkerTimeout : 0)
  }
}
