import type { LaunchedProcess, ProcessExit } from '../../src/pool/worker/launch/launcher.js'
import { encode } from '../../src/wire/codec/index.js'
import { FRAME_HEAD } from '../../src/wire/frame.js'
import { Kind, PROTOCOL_VERSION, type StartFailed, type WorkerUp } from '../../src/wire/messages.js'
import { JobLoop } from '../../src/worker/jobs/job-loop.js'
import { TaskRegistry } from '../../src/worker/tasks/load.js'
import type { SimCalls } from './calls.js'
import type { Coverage, History } from './history.js'
import type { Host, Pollable } from './host.js'
import type { SimLauncher } from './launcher.js'
import { SimLink } from './link.js'
import { MainThread, UNWIND } from './main-thread.js'
import type { MemorySettings, SimFiles, SimMemory, SimRecord } from './memory.js'
import { Pipe } from './pipe.js'
import { SimScope } from './scope.js'
import { type PipeConditions, SimSocket } from './socket.js'
import { simTasks } from './tasks.js'
import { Watchdog } from './watchdog.js'
import type { World } from './world.js'

/** How a process starts: the time until each message, ms; Infinity: never. */
export interface StartPlan {
  hello: number
  up: number
  /** What happens instead of WORKER_UP. */
  failure?: 'throws' | 'exits' | 'killed'
}

export interface ProcessSettings {
  poolId: string
  concurrency: number
  cancelGrace: number
  heartbeatInterval: number
  watchdog: boolean
  maxMessageSize: number
  measureMemory: boolean
  /** It has an acceptance record. */
  record: boolean
  memory: MemorySettings
}

/** What all processes of a run share. */
export interface SimulationContext {
  world: World
  host: Host
  history: History
  coverage: Coverage
  calls: SimCalls
  pipeConditions: PipeConditions
  /** Capacity of a pipe of the kernel, bytes. */
  capacity: number
  /** The longest time that a watchdog takes to reply, ms. */
  watchdogReplies: { latency: number }
  /** The longest time until an exit is reported to the host, ms. */
  exitReports: { latency: number }
}

const NO_JOB = { attempt: 0, delivery: 0, number: 0 } as const

/** One simulated worker process: its start, its two threads, its pipes and its exit. Its job loop is the real one. */
export class SimProcess implements LaunchedProcess {
  readonly pid: number
  readonly jobs: SimSocket
  readonly results: SimSocket
  readonly lifeline: SimSocket
  readonly stdout = undefined
  readonly record: SimRecord | undefined
  readonly memory: SimMemory | undefined
  readonly stderr: SimSocket
  readonly main: MainThread
  readonly watchdog: Watchdog
  readonly loop: JobLoop
  /** When the pool asked for it, ms. */
  startedAt: number
  alive = true
  frozen = false
  helloAt: number | undefined
  upAt: number | undefined
  diedAt: number | undefined
  /** A fault broke one of its pipes. */
  pipeBroken = false
  /** One of its pipes was lost before the host had it. */
  lacksPipe = false
  /** Its launcher process died before the host had all its pipes. */
  isCutOff = false
  rss = 50e6
  /** The largest `rss` so far. */
  peakRss = 50e6
  /**
   * When the pool killed it, ms. The other fields describe its watchdog at that time: ms since its last frame, the longest recent gap
   * before one of its frames, and whether frames of the host were unread.
   */
  killed: { at: number; sinceFrame: number; recentGap: number; unread: boolean } | undefined
  readonly #context: SimulationContext
  readonly #launcher: SimLauncher | undefined
  readonly #exit: Pollable
  #onExit: ((exit: ProcessExit) => void)[] = []
  readonly #stderrPipe: Pipe

  constructor(
    readonly id: number,
    context: SimulationContext,
    settings: ProcessSettings,
    start: StartPlan,
    { record, memory }: SimFiles,
    launcher?: SimLauncher,
  ) {
    const { world, host, pipeConditions, history, capacity } = context
    this.#context = context
    this.#launcher = launcher
    this.pid = 1_000 + id
    this.startedAt = world.now
    const jobs = new Pipe(capacity)
    const results = new Pipe(capacity)
    const down = new Pipe(capacity)
    const up = new Pipe(capacity)
    this.#stderrPipe = new Pipe(capacity)
    this.jobs = new SimSocket(world, host, pipeConditions, { write: jobs })
    this.results = new SimSocket(world, host, pipeConditions, { read: results })
    this.lifeline = new SimSocket(world, host, pipeConditions, { read: up, write: down })
    this.stderr = new SimSocket(world, host, pipeConditions, { read: this.#stderrPipe })
    if (launcher !== undefined) for (const pipe of [this.jobs, this.results, this.lifeline, this.stderr]) pipe.hold()
    this.#exit = { readyAt: 0, poll: () => {} }
    this.record = record
    this.memory = memory
    const scope = new SimScope()
    this.main = new MainThread(this, context, { jobs, results })
    const link = new SimLink(this.main, settings.concurrency)
    this.watchdog = new Watchdog(this, context, settings, { down, up }, link)
    link.watchdog = this.watchdog
    this.loop = new JobLoop({
      config: settings,
      write: (chunks) => this.main.write(chunks),
      record: record && { now: () => this.main.time, record: (delivery, at) => this.#recordAcceptance(record, delivery, at) },
      places: memory?.places,
      link,
      clock: { now: () => world.now, wall: () => world.now, later: (ms, fn) => this.main.later(ms, fn) },
      rss: () => this.rss,
      scope,
      onFinished: () => this.#exitAfterBye(),
      onBroken: (error) => {
        if (error !== UNWIND) history.addViolation(`the job loop of worker ${id} failed: ${error instanceof Error ? error.stack : String(error)}`)
      },
      onFault: (error) => history.addViolation(`worker ${id} reported a fault: ${String(error)}`),
    })
    this.main.loop = this.loop
    const registry = new TaskRegistry(simTasks(this, scope, context))
    if (start.hello !== Number.POSITIVE_INFINITY) world.schedule(start.hello, () => this.main.post(() => this.#hello(start, registry)))
  }

  // ---- for the pool

  onExit(fn: (exit: ProcessExit) => void): void {
    this.#onExit.push(fn)
  }

  kill(): void {
    if (!this.alive) return
    this.noteKill(this.lifeline.writableLength)
    this.signal()
  }

  /** The pool decides to kill it. `unsent`: bytes of the lifeline that are not in the kernel. */
  noteKill(unsent: number): void {
    const { world } = this.#context
    world.trace(`the pool kills worker ${this.id}`)
    this.killed ??= {
      at: world.now,
      sinceFrame: world.now - this.watchdog.lastFrameAt,
      recentGap: this.watchdog.recentGap,
      unread: this.watchdog.hasUnread || unsent > 0,
    }
  }

  /** SIGKILL, which takes effect within 1 ms. */
  signal(): void {
    const { world } = this.#context
    world.schedule(world.random.next(), () => this.die({ exitCode: null, signal: 'SIGKILL' }))
  }

  killRest(): void {}

  // ---- start and orderly exit

  #hello({ up, failure }: StartPlan, registry: TaskRegistry): void {
    const { world } = this.#context
    this.#send(Kind.HELLO, { protocol: PROTOCOL_VERSION, pid: this.pid, node: 'v20.0.0' })
    this.main.afterEffects(() => {
      this.helloAt = world.now
      this.watchdog.start()
    })
    if (up === Number.POSITIVE_INFINITY) return
    world.schedule(up, () => this.main.post(() => this.#finishStart(failure, registry)))
  }

  #finishStart(failure: StartPlan['failure'], registry: TaskRegistry): void {
    if (failure === 'throws') {
      this.#send(Kind.START_FAILED, { module: 'file:///tasks.js', error: new RangeError('it does not load') } satisfies StartFailed)
      this.main.exit({ exitCode: 1, signal: null })
    } else if (failure === 'exits') this.main.exit({ exitCode: 9, signal: null })
    else if (failure === 'killed') this.main.exit({ exitCode: null, signal: 'SIGKILL' })
    else {
      this.#send(Kind.WORKER_UP, { pid: this.pid, tasks: registry.infos(), rss: this.rss, places: this.memory !== undefined } satisfies WorkerUp)
      this.main.afterEffects(() => {
        this.upAt = this.#context.world.now
      })
      this.loop.start(registry)
    }
  }

  #recordAcceptance(record: SimRecord, delivery: number, at: number): boolean {
    const { world, coverage } = this.#context
    coverage.fault('acceptance recorded (no fault)')
    // A task may have closed the descriptor.
    if (world.random.chance(0.05)) return false
    this.main.afterEffects(() => {
      record.recorded = { delivery, at: Math.min(at, world.now) }
    })
    return true
  }

  /** Every accepted job has settled: runs the stop hooks, sends BYE and exits. */
  #exitAfterBye(): void {
    this.main.busy(this.#context.world.random.pick([0, 1, 5, 30]))
    this.loop.output.putHead(Kind.BYE, 0, NO_JOB)
    this.loop.output.flush()
    this.main.exit({ exitCode: 0, signal: null })
  }

  #send(kind: Kind, value: unknown): void {
    this.loop.output.put(kind, 0, NO_JOB, encode(value, FRAME_HEAD, { replaceUnsendable: true }))
    this.loop.output.flush()
  }

  // ---- for the faults

  die(exit: ProcessExit): void {
    if (!this.alive) return
    const { world, host, history, exitReports } = this.#context
    world.trace(`worker ${this.id} is dead: ${exit.signal ?? exit.exitCode}`)
    this.alive = false
    this.diedAt = world.now
    this.main.stop()
    this.watchdog.stop()
    for (const { running } of history.jobs.values()) if (running?.worker === this.id) history.end(running)
    this.#stderrPipe.closeWriter()
    const latency = world.random.next() * exitReports.latency
    if (this.#launcher === undefined) {
      this.#exit.poll = () => this.#reportExit(exit)
      host.markReady(this.#exit, latency)
    } else world.schedule(latency, () => this.#notify(exit))
  }

  #reportExit(exit: ProcessExit): void {
    this.#notify(exit)
    // As Node does, also with a stream that is paused.
    for (const stream of [this.results, this.lifeline, this.stderr]) stream.resume()
  }

  #notify(exit: ProcessExit): void {
    for (const fn of this.#onExit.splice(0)) fn(exit)
  }

  freeze(): void {
    this.frozen = true
  }

  resume(): void {
    if (!this.frozen) return
    this.frozen = false
    this.main.resume()
    this.watchdog.resume()
  }
}
