import { FD_JOBS, FD_LIFELINE, FD_RESULTS } from '../../src/wire/messages.js'
import type { SimLauncher, SimLauncherSystem } from './launcher.js'
import type { SimProcess, SimulationContext, StartPlan } from './process.js'
import type { Random } from './random.js'
import type { PipeConditions } from './socket.js'

const LAUNCHER_FAULTS = [
  'dies',
  'dies while it hands over',
  'dies while it hands over',
  'dies while it hands over',
  'dies when it is to kill',
  'dies before an exit is reported',
  'SIGSTOP',
  'does not start',
  'a worker does not start',
  'no descriptor is free',
  'a pipe is not received',
] as const

/** Faults of workers and their pipes. The script chooses their moment. */
export class Faults {
  readonly #context: SimulationContext
  readonly #processes: Map<number, SimProcess>
  readonly #launchers: () => SimLauncherSystem | undefined
  /** The pipe conditions without a fault. */
  readonly #normalConditions: PipeConditions
  /** How the next workers start, in order. */
  #nextStarts: StartPlan[] = []

  /** `launchers`: undefined where the host starts the workers. */
  constructor(context: SimulationContext, processes: Map<number, SimProcess>, launchers: () => SimLauncherSystem | undefined) {
    this.#context = context
    this.#launchers = launchers
    this.#processes = processes
    this.#normalConditions = { ...context.pipeConditions }
  }

  #alive(): SimProcess[] {
    return [...this.#processes.values()].filter(({ alive }) => alive)
  }

  #inject(name: string, fn: (process: SimProcess) => void, among: SimProcess[] = this.#alive()): void {
    const { world, coverage } = this.#context
    if (among.length === 0) return
    const process = world.random.pick(among)
    coverage.fault(name)
    world.trace(`fault: ${name} (worker ${process.id})`)
    fn(process)
  }

  /** How the next worker starts: without a fault unless `failNextStarts` was called. */
  nextStart(): StartPlan {
    const { random } = this.#context.world
    return this.#nextStarts.shift() ?? { hello: random.between(2, 40), up: random.between(1, 150) }
  }

  failNextStarts(random: Random): void {
    const { coverage, world } = this.#context
    const kind = random.pick(['slow', 'no HELLO', 'no WORKER_UP', 'throws', 'exits', 'killed'] as const)
    const times = random.between(1, 3)
    coverage.fault(`start: ${kind}`)
    world.trace(`fault: the next ${times} starts: ${kind}`)
    for (let i = 0; i < times; i++) {
      const normal = { hello: random.between(2, 40), up: random.between(1, 150) }
      if (kind === 'slow') this.#nextStarts.push({ hello: random.between(500, 12_000), up: random.between(500, 6_000) })
      else if (kind === 'no HELLO') this.#nextStarts.push({ ...normal, hello: Number.POSITIVE_INFINITY })
      else if (kind === 'no WORKER_UP') this.#nextStarts.push({ ...normal, up: Number.POSITIVE_INFINITY })
      else this.#nextStarts.push({ ...normal, failure: kind })
    }
  }

  kill(): void {
    this.#inject('SIGKILL', (process) => process.die({ exitCode: null, signal: 'SIGKILL' }))
  }

  /** Faults of the launcher process, and of starts from it. Most need a worker that is started, or killed. */
  launcher(random: Random): void {
    const system = this.#launchers()
    const launcher = system?.launchers.at(-1)
    if (system === undefined || launcher === undefined) return
    const kind = random.pick(LAUNCHER_FAULTS)
    this.#context.coverage.fault(`launcher: ${kind}`)
    this.#context.world.trace(`fault: launcher: ${kind}`)
    this.#injectInto(system, launcher, kind, random)
    if (kind !== 'dies' && random.chance(0.6)) this.kill()
  }

  #injectInto(system: SimLauncherSystem, launcher: SimLauncher, kind: (typeof LAUNCHER_FAULTS)[number], random: Random): void {
    switch (kind) {
      case 'dies':
        launcher.die()
        return
      case 'dies while it hands over':
        launcher.diesAfterReports = random.below(7)
        return
      case 'dies when it is to kill':
        launcher.diesOn = 'kill'
        return
      case 'dies before an exit is reported':
        launcher.diesOn = 'exited'
        return
      case 'SIGSTOP':
        launcher.freeze(random.pick([20, 400, 3_000, 7_900, Number.POSITIVE_INFINITY]))
        return
      case 'does not start':
        system.failingSpawns = Array.from({ length: random.between(1, 2) }, () => random.pick(['throws', 'no descriptor'] as const))
        launcher.die()
        return
      case 'a worker does not start':
        system.failingStarts = random.between(1, 2)
        return
      case 'no descriptor is free':
        system.lackingDescriptors = random.between(1, 2)
        return
      case 'a pipe is not received':
        system.lostPipe = random.pick([2, FD_JOBS, FD_LIFELINE, FD_LIFELINE, FD_RESULTS])
        return
    }
  }

  dieWriting(random: Random): void {
    const after = random.below(random.pick([60, 400, 4_000]))
    this.#inject('dies while it writes', (process) => {
      process.main.diesAfterWriting = after
    })
  }

  dieReading(random: Random): void {
    const after = random.below(random.pick([60, 400, 4_000]))
    this.#inject('dies while it reads', (process) => {
      process.main.diesAfterReading = after
    })
  }

  freeze(random: Random): void {
    const { world } = this.#context
    const ms = random.pick([10, 200, 3_000, 9_000])
    this.#inject('SIGSTOP', (process) => {
      process.freeze()
      world.schedule(ms, () => process.resume())
    })
  }

  breakPipe(random: Random): void {
    const pipe = random.pick(['jobs', 'results', 'lifeline'] as const)
    this.#inject(`${pipe} pipe breaks`, (process) => {
      process.pipeBroken = true
      process[pipe].break(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    })
  }

  delayWatchdogReplies(random: Random): void {
    const { watchdogReplies, world, coverage } = this.#context
    watchdogReplies.latency = random.pick([20, 300, 2_000])
    coverage.fault('late replies of watchdogs')
    world.schedule(random.pick([50, 1_000, 5_000]), () => {
      watchdogReplies.latency = 0.5
    })
  }

  /** Less than the time that the pool grants between the end of a pipe and the report of the exit. */
  delayExitReports(random: Random): void {
    const { exitReports, world, coverage } = this.#context
    exitReports.latency = random.pick([20, 80, 150])
    coverage.fault('late exit reports')
    world.schedule(random.pick([50, 1_000, 5_000]), () => {
      exitReports.latency = 5
    })
  }

  slowPipes(random: Random): void {
    const { pipeConditions, world, coverage } = this.#context
    coverage.fault('slow pipes')
    pipeConditions.latency = random.pick([2, 30, 200])
    pipeConditions.cutShare = random.pick([0.1, 0.5, 1])
    world.schedule(random.pick([20, 300, 1_500]), () => {
      Object.assign(pipeConditions, this.#normalConditions)
    })
  }

  growMemory(random: Random): void {
    this.#inject('memory', (process) => {
      process.rss = random.pick([120e6, 200e6])
      process.peakRss = Math.max(process.peakRss, process.rss)
    })
  }

  /** Ends all faults that last. */
  stop(): void {
    const { watchdogReplies, exitReports, pipeConditions } = this.#context
    this.#nextStarts = []
    this.#launchers()?.stop()
    watchdogReplies.latency = 0.5
    exitReports.latency = 5
    Object.assign(pipeConditions, this.#normalConditions)
    for (const process of this.#processes.values()) {
      process.resume()
      process.rss = 50e6
      process.main.diesAfterReading = Number.POSITIVE_INFINITY
      process.main.diesAfterWriting = Number.POSITIVE_INFINITY
    }
  }
}
