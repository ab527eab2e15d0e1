import type { Hub, Reader, Writer } from '../../hub/index.js'
import { type LostReason, PreforkError } from '../../wire/errors.js'
import { FIXED_BYTES, PULL_BYTES, writeCredit } from '../../wire/frame.js'
import { frameReader } from '../../wire/frame-reader.js'
import { FrameWriter, type JobHead } from '../../wire/frame-writer.js'
import { type Fault, type Hello, Kind, type LimitStage, type LogLine, PROTOCOL_VERSION, type StartFailed, type WorkerUp } from '../../wire/messages.js'
import type { JobRecord } from '../jobs/job.js'
import { ExitDrain } from './exit-drain.js'
import type { LaunchedProcess, ProcessExit } from './launcher.js'
import { LIFELINE_MAX, WorkerLifeline } from './lifeline.js'
import { lifelineDecoder, resultsDecoder, type WorkerMessageHandler } from './message-decoder.js'
import { PhaseDeadline } from './phase-deadline.js'
import { WorkerOutput } from './worker-output.js'
import type { WorkerOwner, WorkerSettings } from './worker-owner.js'
import { WorkerRecord } from './worker-state.js'

const GREETING_MAX = 64 * 1024
/** Filled in for each job, and read before the next. */
const head: JobHead = { delivery: 0, job: 0, attempt: 0, flags: 0, task: 0, softLimit: 0, hardLimit: 0 }
/** The end of a pipe can be seen this much before the exit that caused it. */
const EXIT_NEWS_MS = 200

/** The parent's side of one worker process, from its start to its burial. */
export class PoolWorker extends WorkerRecord implements WorkerMessageHandler {
  readonly process: LaunchedProcess
  readonly startedAt: number
  readonly writer = new FrameWriter()
  /** To its watchdog. */
  readonly lifeline: WorkerLifeline
  readonly #hub: Hub
  readonly #owner: WorkerOwner
  readonly #settings: WorkerSettings
  readonly #jobsPort: Writer
  readonly #results: Reader
  readonly #lifeline: Reader
  readonly #output: WorkerOutput
  readonly #patience: PhaseDeadline
  readonly #burial: ExitDrain
  /** It has said itself that it writes no more results: nothing of what it did is unknown. */
  #wholeToItsEnd = false

  constructor(
    readonly id: number,
    hub: Hub,
    owner: WorkerOwner,
    settings: WorkerSettings,
    launched: LaunchedProcess,
    /** Times that the start's deadlines are stretched. */
    readonly timeoutFactor: number,
  ) {
    super()
    this.#hub = hub
    this.#owner = owner
    this.#settings = settings
    this.process = launched
    this.startedAt = hub.now()
    this.lastHeardAt = this.startedAt
    // A small limit is meant for values: the worker's own greetings must still pass.
    const frames = Math.max(settings.maxMessageSize, GREETING_MAX) + FIXED_BYTES
    this.#results = hub.addReader(launched.results, frameReader(resultsDecoder(this), frames), (error) => this.#pipeEnded('results', error))
    this.#lifeline = hub.addReader(launched.lifeline, frameReader(lifelineDecoder(this), LIFELINE_MAX), (error) => this.#pipeEnded('lifeline', error))
    this.#jobsPort = hub.addWriter(launched.jobs, this.writer.generator(launched.jobs), (error) => this.#pipeEnded('jobs', error))
    this.lifeline = new WorkerLifeline(hub, launched.lifeline, (error) => this.#pipeEnded('lifeline', error))
    this.#output = new WorkerOutput(
      hub,
      launched,
      settings.captureOutput ? 'lines' : settings.forwardStderr ? 'forward' : 'drop',
      (line) => this.log(this.jobs.running.size === 1 ? this.jobs.running.oldest!.delivery : 0, [line]),
      () => this.#burial.check(),
    )
    this.#burial = new ExitDrain(hub, launched, this.readers, this.#output, () => owner.onDrained(this))
    this.#patience = new PhaseDeadline(hub)
    this.#expect('HELLO', 2 * settings.aliveTimeout * timeoutFactor)
    launched.onExit((exit) => this.#exited(exit))
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  get isUp(): boolean {
    return this.state === 'up' || this.state === 'busy'
  }

  /** It must be given nothing more, whatever its state: it is damaged, or about to be killed. */
  get unusable(): boolean {
    return this.damaged || this.unresponsive || this.quarantined || this.claimsClosed || this.killReason !== undefined
  }

  /** Slots that it takes up: it runs no more at once, however much was written ahead. */
  slotsUsed(concurrency: number): number {
    return Math.min(this.jobs.inFlight, concurrency)
  }

  /** How many more jobs it may be given, where it may accept `most` in its life. */
  quota(most: number): number {
    return most - this.jobs.accepted - this.jobs.sent.size
  }

  /** Its process is not known to be gone. */
  get alive(): boolean {
    return this.exit === undefined
  }

  /** It died without its task modules being to blame: they had loaded, or somebody killed it before they could. */
  get modulesNotAtFault(): boolean {
    return this.upOnce || this.endedByCaller || (this.exit?.signal === 'SIGKILL' && this.killReason === undefined)
  }

  get stderr(): string {
    return this.#output.tail.text
  }

  get readers(): readonly Reader[] {
    return [this.#results, this.#lifeline]
  }

  // ---- what the pool does with it

  assign(job: JobRecord): void {
    const task = this.tasks.get(job.task)!
    this.jobs.write(job, this.id)
    if (this.state === 'up') this.state = 'busy'
    const { spec } = job
    head.delivery = job.delivery
    head.job = spec.number
    head.attempt = job.attempt
    head.flags = spec.flags
    head.task = task
    head.softLimit = spec.softLimit
    head.hardLimit = spec.hardLimit
    this.writer.job(head, spec.parts, spec.size)
  }

  /** Writes what was gathered in this tick. */
  flush(): void {
    if (!this.writer.empty) this.#jobsPort.wake()
    if (this.jobs.unflushed > 0 && this.writer.empty && this.#jobsPort.pending === 0) this.jobs.flushed()
  }

  /** What was written to it is not yet all in the kernel. */
  get writing(): boolean {
    return !this.writer.empty || this.#jobsPort.pending > 0
  }

  /** The kernel's buffer is full: it does not read. */
  get blocked(): boolean {
    return this.#jobsPort.full
  }

  pull(delivery: number, items: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(PULL_BYTES)
    writeCredit(payload, 0, items, bytes)
    this.writer.frame(Kind.PULL, 0, delivery, 0, payload)
    this.#jobsPort.wake()
  }

  /** Takes back everything written and not claimed. */
  recall(): void {
    if (this.recalls > 0 || this.jobs.sent.size === 0) return
    this.recalls++
    this.lifeline.recall(this.jobs.deliveries)
  }

  /** Asks for one job to be cancelled; what was written and not claimed comes back too. */
  cancel(job: JobRecord, reason: unknown): void {
    this.recalls++
    this.lifeline.cancel(job, this.jobs.deliveries, reason)
  }

  /** Asks it to leave: it has nothing in flight. */
  quit(graceMs: number): void {
    if (this.state === 'retiring' || this.state === 'dead') return
    this.state = 'retiring'
    this.expected = true
    this.#hub.cancel(this.drainDeadline)
    this.writer.frame(Kind.QUIT, 0, 0, 0)
    this.#jobsPort.wake()
    this.#patience.within(
      graceMs,
      () => this.readers,
      () => this.kill(),
    )
  }

  /** Ends it for a reason that its jobs will be told. */
  killFor(reason: LostReason, error?: Error): void {
    this.killReason ??= { reason, ...(error === undefined ? {} : { error }) }
    this.kill()
  }

  kill(): void {
    if (this.alive) this.process.kill()
  }

  // ---- what it says

  hello(hello: Hello): void {
    if (hello.protocol !== PROTOCOL_VERSION) {
      this.killFor('protocol', new Error(`The worker speaks version ${hello.protocol} of the protocol, this pool ${PROTOCOL_VERSION}.`))
      return
    }
    this.#heard()
    this.#expect('WORKER_UP', this.#settings.aliveTimeout * this.timeoutFactor)
  }

  up(up: WorkerUp): void {
    this.#patience.end()
    this.#heard()
    // It is being killed, and this was in its pipe already: nobody must count on it any more.
    if (this.state === 'retiring') return
    this.rss = up.rss
    this.upAt = this.#hub.now()
    this.lastProgressAt = this.upAt
    this.tasks = new Map(up.tasks.map((task, index) => [task.name, index]))
    if (this.state === 'starting') this.state = 'up'
    this.#owner.onUp(this, up)
  }

  startFailed(failure: StartFailed): void {
    this.startFailure = failure
  }

  accepted(delivery: number): void {
    const job = this.jobs.accept(delivery)
    this.#progressed()
    this.#owner.onAccepted(this, job)
  }

  answered(delivery: number, flags: number, payload: Buffer, rss: number): void {
    const job = this.jobs.answer(delivery)
    if (rss > 0) this.rss = rss
    this.#progressed()
    if (this.jobs.inFlight === 0 && this.state === 'busy') this.state = 'up'
    this.#owner.onAnswered(this, job, flags, payload)
  }

  item(delivery: number, payload: Buffer): void {
    const job = this.jobs.running.get(delivery)
    if (job !== undefined) this.#owner.onItem(this, job, payload)
  }

  progress(delivery: number, payload: Buffer): void {
    const job = this.jobs.running.get(delivery)
    if (job !== undefined) this.#owner.onProgress(this, job, payload)
  }

  log(delivery: number, lines: LogLine[]): void {
    this.#output.add(lines)
    this.#owner.onLog(this, this.jobs.running.get(delivery), lines)
  }

  fault(fault: Fault): void {
    this.#owner.onFault(this, fault, this.jobs.running.get(fault.delivery ?? 0))
  }

  bye(): void {
    this.expected = true
  }

  heartbeat(rss: number, mainAge: number): void {
    this.#heard()
    if (rss > 0) this.rss = rss
    this.mainAge = mainAge
    this.#owner.onHeartbeat(this)
  }

  recalled(claimed: number, upTo: number): void {
    this.#heard()
    if (this.recalls > 0) this.recalls--
    const back = this.jobs.recalled(claimed, upTo)
    if (this.jobs.inFlight === 0 && this.state === 'busy') this.state = 'up'
    this.#owner.onRecalled(this, back)
  }

  stackReceived(question: number, text: string): void {
    this.lifeline.stackReceived(question, text)
  }

  limit(delivery: number, stage: LimitStage, stack: string): void {
    this.#heard()
    this.#owner.onLimit(this, delivery, stage, stack)
  }

  /** It cannot tell its results any more. What it had written is whole: what it had not accepted has not begun. */
  broken(why: string): void {
    this.#wholeToItsEnd = true
    this.killFor('protocol', new Error(why))
  }

  // ---- its end

  #heard(): void {
    this.lastHeardAt = this.#hub.now()
  }

  /** Its main thread takes jobs up. */
  #progressed(): void {
    this.lastProgressAt = this.#results.at
    this.heldSince = this.lastProgressAt
    this.stuckUntil = 0
    this.stuckFor = 0
  }

  #expect(what: 'HELLO' | 'WORKER_UP', ms: number): void {
    this.#patience.within(
      ms,
      () => [this.#results],
      () => {
        if (!this.alive || this.state !== 'starting') return
        this.startTimedOut = true
        const behind = what === 'HELLO' ? 'the process had not got so far as to load the tasks' : 'the task modules and start hooks were not through'
        this.killFor(
          'killed by the pool',
          new PreforkError('ERR_PREFORK_START_TIMEOUT', `No ${what} within ${ms} ms: ${behind}. See the option 'aliveTimeout'.`),
        )
      },
    )
  }

  #pipeEnded(pipe: string, error?: Error): void {
    if (this.#burial.done) return
    // What it says on this pipe can be trusted no more.
    if (pipe === 'results' && error !== undefined) this.resultsDamaged = true
    if (this.alive && this.state !== 'retiring') {
      // Damaged pipes are never used again. Mostly it is an exit whose news is still on its way: that one names the cause.
      this.damaged = true
      if (this.isUp) {
        this.state = 'draining'
        this.recycled = true
      }
      // The watchdog knows what was claimed.
      if (pipe === 'results') this.recall()
      this.#hub.deadlineAfterRead(
        EXIT_NEWS_MS,
        () => this.readers,
        () => {
          if (!this.alive) return
          if (pipe === 'results' && !this.#wholeToItsEnd) this.resultsDamaged = true
          this.killFor(pipe === 'jobs' ? 'write failed' : 'protocol', error ?? new Error(`its ${pipe} pipe was closed.`))
        },
      )
      this.#owner.onDamaged(this)
    }
    this.#burial.check()
  }

  #exited(exit: ProcessExit): void {
    this.exit = exit
    this.state = 'dead'
    this.#patience.end()
    this.#hub.cancel(this.drainDeadline)
    this.process.killRest()
    this.#jobsPort.stop()
    this.lifeline.stop()
    this.#owner.onExit(this)
    this.#burial.begin(exit.error === undefined ? this.#settings.lostWorkerTimeout : 0)
  }
}
