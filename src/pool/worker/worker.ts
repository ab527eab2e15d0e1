import type { Deadline, Hub, Reader } from '../../hub/index.js'
import type { LostReason } from '../../wire/errors.js'
import type { FrameWriter } from '../../wire/frame-writer.js'
import { type Fault, type Hello, type LimitStage, type LogLine, PROTOCOL_VERSION, type StartFailed, type WorkerUp } from '../../wire/messages.js'
import type { AnswerSink } from '../jobs/calls.js'
import type { JobRecord } from '../jobs/job.js'
import { ExitDrain } from './exit-drain.js'
import { Heartbeats, Progress } from './health.js'
import { InFlightJobs } from './in-flight-jobs.js'
import type { LaunchedProcess, ProcessExit } from './launch/launcher.js'
import { type KillReason, WorkerLifecycle } from './lifecycle.js'
import type { WorkerLifeline } from './lifeline.js'
import type { AnswerKind, SentKind, WorkerMessageHandler } from './message-decoder.js'
import { locateStart, PhaseDeadline, type StartTimeoutError } from './phase-deadline.js'
import { type PipeName, type PipeSettings, WorkerPipes } from './pipes.js'
import { ReservedJobs } from './reserved-jobs.js'
import { RecordedJob } from './shared-memory/recorded-job.js'
import type { WorkerListener } from './worker-listener.js'

/** The end of a pipe can be seen this much before the exit that caused it, ms. */
const EXIT_NOTICE_MS = 200
/** A worker that was asked to quit is killed after this many `cancelGrace`. */
const QUIT_TO_KILL = 5

export interface WorkerSettings extends PipeSettings {
  /** ms. */
  lostWorkerTimeout: number
  aliveTimeout: number
  cancelGrace: number
}

/** How one worker is started, beside the settings of all. */
export interface WorkerStart {
  readonly launched: LaunchedProcess
  /** Factor by which the start deadlines are multiplied. */
  readonly timeoutFactor: number
  readonly spare: boolean
  readonly predecessor: WorkerLifecycle | undefined
}

/** The host's side of one worker process, from its start until everything that the process had written is read. */
export class PoolWorker extends WorkerLifecycle implements WorkerMessageHandler {
  readonly startedAt: number
  readonly jobs = new InFlightJobs()
  readonly reserved = new ReservedJobs()
  readonly heartbeats: Heartbeats
  readonly progress = new Progress()
  readonly recorded: RecordedJob
  readonly writer: FrameWriter
  readonly lifeline: WorkerLifeline
  readonly readers: readonly Reader[]
  startFailure: StartFailed | undefined
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
  #resultsDamaged = false
  /** The worker has announced that it writes no more results: no acceptance and no answer is unknown. */
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
      (line) => this.log(this.recorded.soleRunning(), [line]),
      () => this.#exitDrain.check(),
    )
    this.#pipes = pipes
    this.#results = pipes.results
    this.readers = pipes.readers
    this.writer = pipes.writer
    this.recorded = new RecordedJob(launched.record, this.jobs, pipes.writer, (delivery, at, now = hub.now()) =>
      this.#accept(delivery, this.progress.clamp(at, now)),
    )
    this.lifeline = pipes.lifeline
    this.#exitDrain = new ExitDrain(hub, launched, pipes.readers, pipes.output, () => {
      this.recorded.close()
      pipes.places?.close()
      listener.onOutputRead(this)
    })
    this.#phaseDeadline = new PhaseDeadline(hub)
    this.#phaseDeadline.expect('HELLO', settings.aliveTimeout, 2 * timeoutFactor, pipes.results, this.#startTimedOut)
    launched.onExit((exit) => this.#exited(exit))
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** When the worker came up, ms on the hub's clock; 0: it was never up. */
  get upAt(): number {
    return this.#upAt
  }

  /** The index of each task in the worker's own table, by name. */
  get tasks(): ReadonlyMap<string, number> {
    return this.#tasks
  }

  /** RECALLs under way: no JOB is written until each is answered. */
  get recalls(): number {
    return this.#recalls
  }

  /** The results pipe could not be read to its end: a job that the worker did not give back may have begun. */
  get resultsDamaged(): boolean {
    return this.#resultsDamaged
  }

  /** No job is in flight, none is reserved, and no RECALL is under way. */
  get holdsNothing(): boolean {
    return this.jobs.inFlight === 0 && this.reserved.empty && this.#recalls === 0
  }

  get stderr(): string {
    return this.#pipes.output.tail.text
  }

  /** Some bytes written to the worker are not yet in the kernel. */
  get writing(): boolean {
    return this.#pipes.writing
  }

  /** The kernel's buffer is full: the worker does not read. */
  get blocked(): boolean {
    return this.#pipes.blocked
  }

  /** Sends the answers of the calls that the worker's jobs make. */
  get answers(): AnswerSink {
    return this.#pipes.answers
  }

  assign(job: JobRecord): void {
    this.jobs.write(job, this.id)
    this.jobs.wentByPlace(job, this.#pipes.job(job, this.#tasks.get(job.task)!))
  }

  /** Writes the frames gathered in this tick. */
  flush(): void {
    this.#pipes.flush()
    if (this.jobs.unflushed > 0 && !this.#pipes.writing) this.jobs.flushed()
  }

  pull(delivery: number, items: number, bytes: number): void {
    this.#pipes.pull(delivery, items, bytes)
  }

  /** Takes back all jobs that were written and not claimed. */
  recall(): void {
    if (this.#recalls > 0 || this.jobs.sent.size === 0) return
    this.#recalls++
    this.lifeline.recall(this.jobs.deliveries)
  }

  /** Cancels one job; jobs written and not claimed come back too. `interruptFor`: ms during which its synchronous code may be interrupted; 0: never. */
  cancel(job: JobRecord, reason: unknown, interruptFor: number): void {
    this.#recalls++
    this.lifeline.cancel(job, this.jobs.deliveries, interruptFor, reason)
  }

  /** `deadline` ends the drain, unless the worker retires before. */
  drainUntil(deadline: Deadline): void {
    this.#drainDeadline = deadline
  }

  // | method  | what it does                         | caller                                                                 | a failure?      | next mode |
  // | quit    | QUIT; SIGKILL if no exit follows     | Fleet, Retirement: the worker holds nothing, or the pool closes        | no              | retiring  |
  // | discard | SIGKILL                              | Fleet when the pool ends; Retirement while the worker starts           | no              | retiring  |
  // | killFor | SIGKILL; its jobs' errors say why    | deadlines, limits, Retirement, HealthMonitor, `pool.end`, broken pipes | unless retiring | unchanged |
  // | bye     | nothing: the worker exits            | the worker, by BYE                                                     | no              | retiring  |
  quit(): void {
    if (!this.retire()) return
    this.#hub.cancel(this.#drainDeadline)
    this.#pipes.quit()
    this.#phaseDeadline.set(QUIT_TO_KILL * this.#settings.cancelGrace, this.readers, () => this.killFor('killed by the pool'))
  }

  discard(): void {
    this.retire()
    this.#hub.cancel(this.#drainDeadline)
    this.killFor('killed by the pool')
  }

  /** The first reason stays. `brief`: see KillReason. */
  killFor(reason: LostReason, error?: Error, cause?: KillReason['cause'], brief?: string): void {
    this.setKillReason(reason, error, cause, brief)
    if (this.alive) this.#process.kill()
  }

  hello(hello: Hello): void {
    if (hello.protocol !== PROTOCOL_VERSION) {
      this.killFor('protocol', new Error(`The worker speaks version ${hello.protocol} of the protocol, this pool ${PROTOCOL_VERSION}.`))
      return
    }
    this.heartbeats.received(this.#hub.now())
    this.#phaseDeadline.expect('WORKER_UP', this.#settings.aliveTimeout, this.#timeoutFactor, this.#results, this.#startTimedOut)
  }

  up(up: WorkerUp): void {
    this.heartbeats.received(this.#hub.now())
    if (!this.comeUp()) return
    this.#phaseDeadline.cancel()
    this.heartbeats.measured(up.rss)
    this.#upAt = this.#hub.now()
    this.progress.cameUp(this.#upAt)
    if (up.places) this.#pipes.usePlaces(this.jobs)
    this.#tasks = new Map(up.tasks.map((task, index) => [task.name, index]))
    this.#listener.onUp(this, up)
  }

  startFailed(failure: StartFailed): void {
    this.startFailure = failure
  }

  accepted(delivery: number): void {
    const { at } = this.#results
    this.#pipes.places?.taken(delivery)
    if (this.recorded.announced(delivery, at)) this.#accept(delivery, at)
  }

  #accept(delivery: number, at: number): void {
    const job = this.jobs.accept(delivery)
    this.progress.made(at)
    this.#listener.onAccepted(this, job)
  }

  answered(delivery: number, flags: number, payload: Buffer, rss: number, acceptedAt: number, endedAt: number): void {
    const { at } = this.#results
    const ended = endedAt === 0 ? at : this.recorded.answered(delivery, acceptedAt, endedAt, at)
    this.recorded.proven(delivery, at)
    this.#pipes.places?.taken(delivery)
    const job = this.jobs.answer(delivery)
    this.heartbeats.measured(rss)
    this.progress.made(at)
    this.#listener.onAnswered(this, job, flags, payload, ended)
  }

  sent(delivery: number, kind: SentKind, payload: Buffer): void {
    const job = this.recorded.running(delivery, this.#results.at)
    if (job !== undefined) this.#listener.onSent(this, job, kind, payload)
  }

  log(delivery: number, lines: LogLine[]): void {
    this.#pipes.output.add(lines)
    this.#listener.onLog(this, this.recorded.running(delivery, this.#results.at), lines)
  }

  fault(fault: Fault): void {
    this.#listener.onFault(this, fault, this.recorded.running(fault.delivery ?? 0, this.#results.at))
  }

  bye(): void {
    this.retire()
  }

  heartbeat(rss: number, mainAge: number, cpu: number): void {
    this.heartbeats.beat(this.#hub.now(), rss, mainAge, cpu)
    this.recorded.acceptIfRecorded()
    this.#pipes.places?.rest(this.holdsNothing, this.jobs.deliveries)
    this.#listener.onHeartbeat(this)
  }

  recalled(claimed: number, upTo: number): void {
    this.heartbeats.received(this.#hub.now())
    if (this.#recalls > 0) this.#recalls--
    this.recorded.recalled(claimed, upTo, this.#hub.now())
    this.#pipes.places?.takenBack(claimed, upTo)
    this.#listener.onRecalled(this, this.jobs.recalled(claimed, upTo))
  }

  requestAnswered(kind: AnswerKind, request: number, flags: number, payload: Buffer): void {
    this.lifeline.answered(kind, request, flags, payload)
  }

  limit(delivery: number, stage: LimitStage, stack: string): void {
    this.heartbeats.received(this.#hub.now())
    this.#listener.onLimit(this, delivery, stage, stack)
  }

  /** The worker cannot send results any more. All frames before are whole: a job without an ACCEPTED has not begun. */
  broken(why: string): void {
    this.#resultsComplete = true
    this.killFor('protocol', new Error(why))
  }

  readonly #startTimedOut = (error: StartTimeoutError): void => {
    locateStart(this.#hub, this.lifeline.stack(), error, (located) => this.isStarting && this.killFor('killed by the pool', located, 'start timeout'))
  }

  #pipeEnded(pipe: PipeName, error?: Error): void {
    if (this.#exitDrain.done) return
    // The bytes of this pipe can no longer be trusted.
    if (pipe === 'results' && error !== undefined) this.#resultsDamaged = true
    if (this.alive && !this.isRetiring) {
      // A damaged pipe is never used again. Usually the worker has exited and the exit event follows, which has the cause.
      this.markPipeBroken()
      this.drain('damaged')
      // The watchdog knows which jobs were claimed.
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
    this.recorded.acceptIfRecorded()
    this.#listener.onExit(this)
    this.#exitDrain.begin(exit.error === undefined ? this.#settings.lostWorkerTimeout : 0)
  }
}
