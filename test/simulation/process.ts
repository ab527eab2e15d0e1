import type { LaunchedProcess, ProcessExit } from '../../src/pool/worker/launcher.js'
import { encode } from '../../src/wire/codec/index.js'
import { FRAME_HEAD } from '../../src/wire/frame.js'
import { Kind, PROTOCOL_VERSION, type StartFailed, type WorkerUp } from '../../src/wire/messages.js'
import { JobLoop } from '../../src/worker/jobs/job-loop.js'
import { TaskRegistry } from '../../src/worker/tasks/load.js'
import type { Host, Pollable } from './host.js'
import { SimLink } from './link.js'
import { MainThread, UNWIND } from './main-thread.js'
import { Pipe } from './pipe.js'
import { SimScope } from './scope.js'
import { SimSocket, type Weather } from './socket.js'
import { simTasks } from './tasks.js'
import type { Coverage, Truth } from './truth.js'
import { Watchdog } from './watchdog.js'
import type { World } from './world.js'

/** How a process starts. ms; Infinity: never. */
export interface StartPlan {
  hello: number
  up: number
  /** Instead of WORKER_UP. */
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
}

/** What a process shares with its world. */
export interface Surroundings {
  world: World
  host: Host
  truth: Truth
  coverage: Coverage
  weather: Weather
  /** Bytes that one pipe of the kernel holds. */
  capacity: number
  /** How long the watchdog takes to answer, at the most, ms. */
  answers: { latency: number }
  /** How long the news of an exit takes, at the most, ms. */
  exitNews: { latency: number }
}

const NOBODY = { attempt: 0, delivery: 0, number: 0 } as const

/** One simulated worker process: its start, its two threads, its pipes, its death. The job loop in it is the real one. */
export class SimProcess implements LaunchedProcess {
  readonly pid: number
  readonly jobs: SimSocket
  readonly results: SimSocket
  readonly lifeline: SimSocket
  readonly stdout = undefined
  readonly stderr: SimSocket
  readonly main: MainThread
  readonly watchdog: Watchdog
  readonly loop: JobLoop
  readonly startedAt: number
  alive = true
  frozen = false
  helloAt: number | undefined
  upAt: number | undefined
  diedAt: number | undefined
  /** The world broke one of its pipes. */
  broken = false
  rss = 50e6
  /** The largest it has been. */
  fattest = 50e6
  /** When the pool killed it, how long nothing had been heard of it then, and whether it had yet to hear something. */
  killed: { at: number; sinceBeat: number; silence: number; deaf: boolean } | undefined
  readonly #around: Surroundings
  readonly #exit: Pollable
  #onExit: ((exit: ProcessExit) => void)[] = []
  readonly #errors: Pipe

  constructor(
    readonly id: number,
    around: Surroundings,
    settings: ProcessSettings,
    start: StartPlan,
  ) {
    const { world, host, weather, truth, capacity } = around
    this.#around = around
    this.pid = 1_000 + id
    this.startedAt = world.now
    const jobs = new Pipe(capacity)
    const results = new Pipe(capacity)
    const down = new Pipe(capacity)
    const up = new Pipe(capacity)
    this.#errors = new Pipe(capacity)
    this.jobs = new SimSocket(world, host, weather, { write: jobs })
    this.results = new SimSocket(world, host, weather, { read: results })
    this.lifeline = new SimSocket(world, host, weather, { read: up, write: down })
    this.stderr = new SimSocket(world, host, weather, { read: this.#errors })
    this.#exit = { readyAt: 0, poll: () => {} }
    const scope = new SimScope()
    this.main = new MainThread(this, around, { jobs, results })
    const link = new SimLink(this.main, settings.concurrency)
    this.watchdog = new Watchdog(this, around, settings, { down, up }, link)
    link.watchdog = this.watchdog
    this.loop = new JobLoop({
      config: settings,
      write: (chunks) => this.main.write(chunks),
      link,
      clock: { now: () => world.now, wall: () => world.now, later: (ms, fn) => this.main.later(ms, fn) },
      rss: () => this.rss,
      scope,
      onFinished: () => this.#leave(),
      onBroken: (error) => {
        if (error !== UNWIND) truth.violated(`the job loop of worker ${id} broke: ${error instanceof Error ? error.stack : String(error)}`)
      },
      onFault: (error) => truth.violated(`a fault in worker ${id}: ${String(error)}`),
    })
    this.main.loop = this.loop
    const registry = new TaskRegistry(simTasks(this, scope, truth))
    if (start.hello !== Number.POSITIVE_INFINITY) world.after(start.hello, () => this.main.post(() => this.#hello(start, registry)))
  }

  // ---- what the pool does with it

  onExit(fn: (exit: ProcessExit) => void): void {
    this.#onExit.push(fn)
  }

  kill(): void {
    if (!this.alive) return
    const { world } = this.#around
    this.killed ??= {
      at: world.now,
      sinceBeat: world.now - this.watchdog.lastBeatAt,
      silence: this.watchdog.silence,
      deaf: this.watchdog.deaf || this.lifeline.writableLength > 0,
    }
    world.say(`the pool kills worker ${this.id}`)
    // The signal reaches it before anything else is seen of it.
    world.after(world.random.next(), () => this.die({ exitCode: null, signal: 'SIGKILL' }))
  }

  killRest(): void {}

  // ---- its life

  #hello({ up, failure }: StartPlan, registry: TaskRegistry): void {
    const { world } = this.#around
    this.#send(Kind.HELLO, { protocol: PROTOCOL_VERSION, pid: this.pid, node: 'v20.0.0' })
    this.main.mark(() => {
      this.helloAt = world.now
      this.watchdog.start()
    })
    if (up === Number.POSITIVE_INFINITY) return
    world.after(up, () => this.main.post(() => this.#loaded(failure, registry)))
  }

  #loaded(failure: StartPlan['failure'], registry: TaskRegistry): void {
    if (failure === 'throws') {
      this.#send(Kind.START_FAILED, { module: 'file:///tasks.js', error: new RangeError('it does not load') } satisfies StartFailed)
      this.main.exit({ exitCode: 1, signal: null })
    } else if (failure === 'exits') this.main.exit({ exitCode: 9, signal: null })
    else if (failure === 'killed') this.main.exit({ exitCode: null, signal: 'SIGKILL' })
    else {
      this.#send(Kind.WORKER_UP, { pid: this.pid, tasks: registry.infos(), rss: this.rss } satisfies WorkerUp)
      this.main.mark(() => {
        this.upAt = this.#around.world.now
      })
      this.loop.start(registry)
    }
  }

  /** Everything taken up is finished: stop hooks, BYE, exit. */
  #leave(): void {
    this.main.busy(this.#around.world.random.pick([0, 1, 5, 30]))
    this.loop.output.putHead(Kind.BYE, 0, NOBODY)
    this.loop.output.flush()
    this.main.exit({ exitCode: 0, signal: null })
  }

  #send(kind: Kind, value: unknown): void {
    this.loop.output.put(kind, 0, NOBODY, encode(value, FRAME_HEAD, { replaceUnsendable: true }))
    this.loop.output.flush()
  }

  // ---- what the world does to it

  die(exit: ProcessExit): void {
    if (!this.alive) return
    const { world, host, truth, exitNews } = this.#around
    world.say(`worker ${this.id} is dead: ${exit.signal ?? exit.exitCode}`)
    this.alive = false
    this.diedAt = world.now
    this.main.stop()
    this.watchdog.stop()
    for (const { running } of truth.jobs.values()) if (running?.worker === this.id) truth.end(running)
    this.#errors.closeWriter()
    this.#exit.poll = () => {
      for (const fn of this.#onExit) fn(exit)
    }
    host.ready(this.#exit, world.random.next() * exitNews.latency)
  }

  freeze(): void {
    this.frozen = true
  }

  thaw(): void {
    if (!this.frozen) return
    this.frozen = false
    this.main.resume()
    this.watchdog.resume()
  }
}
