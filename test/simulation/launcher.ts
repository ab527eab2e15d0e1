import { HAND_OVER_ORDER, type LauncherReport, type LauncherRequest } from '../../src/pool/worker/launch/launcher.js'
import type { FilesWithPaths, LauncherChild, LauncherSystem } from '../../src/pool/worker/launch/spawn-launcher.js'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS } from '../../src/wire/messages.js'
import type { Pollable } from './host.js'
import { openFiles, type SimFiles } from './memory.js'
import type { ProcessSettings, SimProcess, SimulationContext } from './process.js'
import type { SimSocket } from './socket.js'

/** How long a launcher process takes to start, ms. */
const STARTUP = [5, 60] as const
/** The longest time until its host sees that it is dead, ms. */
const EXIT_LATENCY = 5

/** How a launcher process fails to start: spawn() throws, or emits an error. */
export type SpawnFailure = 'throws' | 'no descriptor'

interface Message {
  readonly report: LauncherReport
  readonly pipe: SimSocket | undefined
}

/** The operating system, for the real code that starts workers from a launcher process. */
export class SimLauncherSystem implements LauncherSystem {
  readonly launchers: SimLauncher[] = []
  /** How the next launchers fail to start. */
  failingSpawns: SpawnFailure[] = []
  /** So many of the next workers meet no free descriptor, or no process. */
  lackingDescriptors = 0
  failingStarts = 0
  /** The next pipe of this descriptor is lost on its way. */
  lostPipe: number | undefined
  /** The pipes that the host was given. */
  readonly given: SimSocket[] = []
  readonly #context: SimulationContext
  readonly #settings: ProcessSettings
  readonly #startProcess: (id: number, files: SimFiles, launcher: SimLauncher) => SimProcess
  readonly #timers = new Set<unknown>()
  readonly #files = new Map<string, SimFiles>()
  #opened = 0

  constructor(context: SimulationContext, settings: ProcessSettings, startProcess: (id: number, files: SimFiles, launcher: SimLauncher) => SimProcess) {
    this.#context = context
    this.#settings = settings
    this.#startProcess = startProcess
  }

  readonly clock = {
    now: (): number => this.#context.host.now(),
    setTimer: (fn: () => void, ms: number): unknown => {
      const timer = this.#context.host.setTimer(() => {
        this.#timers.delete(timer)
        fn()
      }, ms)
      this.#timers.add(timer)
      return timer
    },
    clearTimer: (timer: unknown): void => {
      this.#timers.delete(timer)
      this.#context.host.clearTimer(timer)
    },
  }

  spawn(onReport: (report: LauncherReport, pipe: SimSocket | undefined) => void, onExit: (error: Error) => void): LauncherChild {
    const { history } = this.#context
    history.check(
      this.launchers.every(({ alive }) => !alive),
      () => 'a launcher process is started beside another one',
    )
    const failure = this.failingSpawns.shift()
    if (failure === 'throws') throw new Error('spawn ENOMEM')
    const nothing = (): void => {}
    if (failure !== undefined) return { failure: Promise.resolve(new Error('spawn EMFILE')), send: nothing, kill: nothing, closeLifeline: nothing }
    const launcher = new SimLauncher(this.#context, this, onReport, onExit)
    this.launchers.push(launcher)
    return launcher
  }

  openFiles(): FilesWithPaths {
    const { world, coverage } = this.#context
    const files = openFiles(world, coverage, this.#settings)
    const path = { path: `/proc/1/fd/${++this.#opened}`, identity: '' }
    this.#files.set(path.path, files)
    return { ...files, paths: { record: files.record && path, memory: files.memory && path } }
  }

  descriptorError(): Error | undefined {
    if (this.lackingDescriptors === 0) return undefined
    this.lackingDescriptors--
    return new Error('too many files are open')
  }

  kill(target: number): void {
    const { history } = this.#context
    for (const launcher of this.launchers) {
      const process = launcher.find(Math.abs(target))
      // Its number may be that of another process, once the launcher has waited for it.
      if (process !== undefined) history.check(!launcher.alive, () => `the host signals worker ${process.id}, whose launcher process lives`)
      // The host counts it as ended at once. It may: kill() returns when the signal is pending, and a process with a pending SIGKILL runs no more of its own code.
      process?.die({ exitCode: null, signal: 'SIGKILL' })
    }
  }

  // ---- for the launchers

  startWorker(launcher: SimLauncher, id: number, path: string | undefined): SimProcess {
    const { random } = this.#context.world
    const files = path === undefined || random.chance(0.05) ? undefined : this.#files.get(path)
    return this.#startProcess(id, files ?? { record: undefined, memory: undefined }, launcher)
  }

  /** Ends all faults that last. */
  stop(): void {
    this.failingSpawns = []
    this.lackingDescriptors = this.failingStarts = 0
    this.lostPipe = undefined
    for (const launcher of this.launchers) launcher.stopFaults()
  }

  /** What the closed pool must not hold. The timers of an answer that has come do nothing. */
  get held(): { launchers: number; files: number; pipes: number; timers: number } {
    const open = [...this.#files.values()].filter(({ record, memory }) => record?.isClosed === false || memory?.isClosed === false)
    return {
      launchers: this.launchers.filter(({ alive }) => alive).length,
      files: open.length,
      pipes: this.given.filter(({ destroyed }) => !destroyed).length,
      timers: -this.#timers.size,
    }
  }
}

/** A launcher process. Its program is a model: it starts workers, hands over their pipes and reports their ends in order, and waits after each pipe for the host to take it. */
export class SimLauncher implements LauncherChild {
  readonly failure = undefined
  alive = true
  /** It dies before it sends so many more reports. */
  diesAfterReports = Number.POSITIVE_INFINITY
  /** It dies when it is asked to kill a worker, or when a worker has exited. */
  diesOn: 'kill' | 'exited' | undefined
  readonly #context: SimulationContext
  readonly #system: SimLauncherSystem
  readonly #workers = new Map<number, SimProcess>()
  /** How long it may take between two pipes, ms: the machine is busy. */
  readonly #pause: number
  readonly #channel: Pollable
  readonly #exit: Pollable
  #frozen: 'for a time' | 'for good' | undefined
  /** What was due while it was frozen. */
  #deferred: (() => void)[] = []
  /** When the last request arrives, ms: later ones come after it. */
  #requestAt: number
  #unsent: Message[] = []
  #sent: Message[] = []
  /** The host has not taken the last pipe yet. */
  #waits = false

  constructor(
    context: SimulationContext,
    system: SimLauncherSystem,
    onReport: (report: LauncherReport, pipe: SimSocket | undefined) => void,
    onExit: (error: Error) => void,
  ) {
    const { world } = context
    this.#context = context
    this.#system = system
    this.#requestAt = world.now + world.random.between(...STARTUP)
    this.#pause = world.random.pick([0, 0, 2, 30, 300])
    this.#channel = { readyAt: 0, poll: () => this.#receive(onReport) }
    this.#exit = { readyAt: 0, poll: () => onExit(new Error('The launcher process has ended (SIGKILL).')) }
    world.trace('a launcher process is started')
  }

  // ---- for the host

  send(request: LauncherRequest): void {
    const { world } = this.#context
    this.#requestAt = Math.max(this.#requestAt, world.now + this.#latency())
    world.schedule(this.#requestAt - world.now, () => this.#run(() => this.#handle(request)))
  }

  kill(): void {
    const { world } = this.#context
    world.trace('the host kills the launcher process')
    world.schedule(world.random.next(), () => this.die())
  }

  closeLifeline(): void {
    this.#context.world.schedule(this.#latency(), () => this.#run(() => this.die()))
  }

  find(pid: number): SimProcess | undefined {
    return [...this.#workers.values()].find((process) => process.pid === pid)
  }

  // ---- its program

  #handle(request: LauncherRequest): void {
    if (request.op === 'setup') return
    const { id } = request
    if (request.op === 'start') {
      this.#start(id, request.record?.path)
      return
    }
    if (request.op === 'kill rest') {
      this.#workers.delete(id)
      return
    }
    const dies = this.diesOn === 'kill'
    if (dies) this.#context.coverage.fault('launcher dies at a kill request')
    // Before it has sent the signal, or after.
    if (!dies || this.#context.world.random.chance(0.5)) this.#workers.get(id)?.signal()
    if (dies) this.die()
  }

  #start(id: number, path: string | undefined): void {
    const system = this.#system
    if (system.failingStarts > 0) {
      system.failingStarts--
      this.#report({ report: { op: 'failed', id, error: { message: 'spawn EAGAIN', code: 'EAGAIN', cause: undefined } }, pipe: undefined })
      return
    }
    const process = system.startWorker(this, id, path)
    this.#workers.set(id, process)
    process.onExit(({ exitCode, signal }) => this.#run(() => this.#exited({ op: 'exited', id, exitCode, signal })))
    const messages: Message[] = [{ report: { op: 'started', id, pid: process.pid }, pipe: undefined }]
    const pipes: Record<number, SimSocket> = { 2: process.stderr, [FD_JOBS]: process.jobs, [FD_RESULTS]: process.results, [FD_LIFELINE]: process.lifeline }
    for (const fd of HAND_OVER_ORDER) if (pipes[fd] !== undefined) messages.push({ report: { op: 'pipe', id, fd }, pipe: pipes[fd] })
    this.#report(...messages)
  }

  #exited(report: LauncherReport): void {
    if (this.diesOn === 'exited') {
      this.#context.coverage.fault('launcher dies before it reports an exit')
      this.die()
    } else this.#report({ report, pipe: undefined })
  }

  #report(...messages: Message[]): void {
    this.#unsent.push(...messages)
    this.#flush()
  }

  #flush(): void {
    while (this.#unsent.length > 0 && !this.#waits) {
      if (this.diesAfterReports-- <= 0) {
        const { report } = this.#unsent[0]!
        this.#context.coverage.fault(`launcher dies before '${report.op}${report.op === 'pipe' ? ` ${report.fd}` : ''}'`)
        this.die()
        return
      }
      const message = this.#unsent.shift()!
      this.#sent.push(message)
      this.#context.host.markReady(this.#channel, this.#latency())
      this.#waits = message.pipe !== undefined
      // With its last report on the way.
      if (this.diesAfterReports <= 0 && this.#context.world.random.chance(0.5)) this.die()
    }
  }

  /** The host reads what has arrived. */
  #receive(onReport: (report: LauncherReport, pipe: SimSocket | undefined) => void): void {
    const { world, host } = this.#context
    for (const { report, pipe } of this.#sent.splice(0)) {
      world.trace(`the launcher process reports ${JSON.stringify(report)}`)
      if (report.op === 'pipe' && pipe !== undefined && this.#system.lostPipe === report.fd) {
        this.#system.lostPipe = undefined
        const worker = this.#workers.get(report.id)!
        worker.pipeBroken = worker.lacksPipe = true
        pipe.destroy()
      } else {
        if (pipe !== undefined) {
          this.#system.given.push(pipe)
          pipe.handOver()
        }
        onReport(report, pipe)
      }
      if (pipe === undefined) continue
      world.schedule(this.#latency() + world.random.next() * this.#pause, () => this.#run(() => this.#taken()))
      // One that is to die does so while the host stands still: the host then sees the end at once with what came before.
      if (this.diesAfterReports < HAND_OVER_ORDER.length && world.random.chance(0.4))
        world.schedule(world.random.next() * this.#pause, () => host.stall(world.random.pick([20, 100, 300])))
    }
  }

  #taken(): void {
    this.#waits = false
    this.#flush()
  }

  #run(fn: () => void): void {
    if (!this.alive) return
    if (this.#frozen !== undefined) this.#deferred.push(fn)
    else fn()
  }

  #latency(): number {
    const { world, pipeConditions } = this.#context
    return world.random.next() * pipeConditions.latency
  }

  // ---- for the faults

  /** The pipes that it has not sent close, and its workers are nobody's: their exits are not reported. */
  die(): void {
    if (!this.alive) return
    const { world, host } = this.#context
    world.trace('the launcher process is dead')
    this.alive = false
    for (const { report, pipe } of this.#unsent.splice(0)) {
      if (pipe !== undefined) this.#workers.get(report.id)!.isCutOff = true
      pipe?.destroy()
    }
    host.markReady(this.#exit, world.random.next() * EXIT_LATENCY)
  }

  /** `ms`: Infinity: until it is killed. */
  freeze(ms: number): void {
    const isForGood = ms === Number.POSITIVE_INFINITY
    this.#frozen = isForGood ? 'for good' : 'for a time'
    if (!isForGood) this.#context.world.schedule(ms, () => this.resume())
  }

  resume(): void {
    if (this.#frozen === 'for good') return
    this.#frozen = undefined
    for (const fn of this.#deferred.splice(0)) this.#run(fn)
  }

  stopFaults(): void {
    this.diesAfterReports = Number.POSITIVE_INFINITY
    this.diesOn = undefined
    this.resume()
  }
}
