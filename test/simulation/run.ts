import { Hub } from '../../src/hub/index.js'
import { readOptions } from '../../src/pool/options.js'
import { Pool } from '../../src/pool/pool.js'
import type { Launcher } from '../../src/pool/worker/launch/launcher.js'
import { launcherProcess } from '../../src/pool/worker/launch/launcher-process.js'
import { transitions } from '../../src/pool/worker/lifecycle.js'
import { WorkerStartError } from '../../src/wire/errors.js'
import { SimCalls } from './calls.js'
import { PromiseChecker } from './checker.js'
import { optionsOf, type RunConfig } from './config.js'
import { Faults } from './faults.js'
import { type Coverage, History } from './history.js'
import { Host } from './host.js'
import { type SimLauncher, SimLauncherSystem } from './launcher.js'
import { openFiles, type SimFiles } from './memory.js'
import { type ProcessSettings, SimProcess, type SimulationContext } from './process.js'
import { Script } from './script.js'
import { World } from './world.js'
import { WriteAheadRule } from './write-ahead.js'

export interface RunReport {
  readonly violations: readonly string[]
  /** One line for each event; empty without `traced`. */
  readonly trace: readonly string[]
}

/** One run: executes `steps` on a pool in a simulated world, and checks every promise. `traced` records what happens. */
export const play = async (config: RunConfig, steps: readonly number[], coverage: Coverage, traced = false): Promise<RunReport> => {
  // Pending work of this process runs now, not during the run.
  await new Promise((resolve) => setImmediate(resolve))
  const { stackTraceLimit } = Error
  // Frames contain the stacks of errors: their length must not depend on the caller.
  Error.stackTraceLimit = 0
  try {
    return await playWithoutStacks(config, steps, coverage, traced)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    transitions.observe = undefined
  }
}

const playWithoutStacks = async (config: RunConfig, steps: readonly number[], coverage: Coverage, traced: boolean): Promise<RunReport> => {
  const world = new World(config.seed, traced)
  const host = new Host(world)
  host.clockReadCost = config.clockReadCost
  const history = new History(world, coverage)
  const writeAhead = new WriteAheadRule(config, history)
  const endObservation = writeAhead.observe()
  const processes = new Map<number, SimProcess>()
  const checker = new PromiseChecker(config, world, history, coverage, processes, writeAhead)
  const context: SimulationContext = {
    world,
    host,
    history,
    coverage,
    calls: new SimCalls(host, history, coverage),
    pipeConditions: { latency: config.latency, cutShare: config.cutShare },
    capacity: config.capacity,
    watchdogReplies: { latency: 0.5 },
    exitReports: { latency: 5 },
  }
  let system: SimLauncherSystem | undefined
  const faults = new Faults(context, processes, () => system)
  const settings = readOptions(optionsOf(config))
  const log = (details: object, message: string): void => {
    if (traced) world.trace(`  the pool logs: ${message} ${JSON.stringify(details)}`)
    if ('why' in details && details.why === 'quarantined' && 'worker' in details) checker.workerQuarantined(details.worker as number)
  }
  settings.logger = { trace: log, debug: log, info: log, warn: log, error: log }
  transitions.observe = (worker, from, to) => history.workerTransition(worker, from, to)
  const hub = new Hub(host)
  const pool = new Pool(
    settings,
    (poolId) => {
      const launching = launchers(config, context, processes, faults, {
        poolId,
        ...settings,
        measureMemory: true,
        record: config.record,
        memory: config.memory,
      })
      system = launching.system
      return launching.launcher
    },
    hub,
  )
  pool.on('workerExit', (exit) => checker.workerExited(exit))
  coverage.runs++
  const script = new Script({ config, world, host, history, checker, faults, processes, pool, hub, coverage, calls: context.calls })
  try {
    if (await script.start()) {
      for (const step of steps) {
        await script.step(step)
        coverage.steps++
        if (history.violations.length > 0) return { violations: history.violations, trace: world.traceLines ?? [] }
      }
      await script.settle()
    }
    await script.close()
    if (history.violations.length === 0) {
      checker.checkAtEnd()
      context.calls.checkAtEnd()
      const remaining = { ...hub.registered(), ...host.pendingWork, processes: [...processes.values()].filter(({ alive }) => alive).length }
      const launching = system?.held ?? { timers: 0 }
      Object.assign(remaining, launching, { timers: remaining.timers + launching.timers })
      history.check(
        Object.values(remaining).every((count) => count === 0),
        () => `promise 6: the closed pool holds resources: ${JSON.stringify(remaining)}`,
      )
      history.check(host.keepAliveClosed, () => 'promise 6: the closed pool may still keep the host alive')
    }
  } catch (error) {
    history.addViolation(
      error instanceof WorkerStartError ? `promise 8: no worker could be started: ${error.message}` : `an error was thrown: ${(error as Error).stack}`,
    )
  } finally {
    endObservation()
  }
  return { violations: history.violations, trace: world.traceLines ?? [] }
}

/** What starts the workers of a run. `system`: undefined where the host starts them. */
const launchers = (
  config: RunConfig,
  context: SimulationContext,
  processes: Map<number, SimProcess>,
  faults: Faults,
  settings: ProcessSettings & { killTree: boolean; output: 'inherit' | 'ignore' | 'capture' },
): { launcher: Launcher; system: SimLauncherSystem | undefined } => {
  const { world, history, coverage } = context
  const start = (id: number, files: SimFiles, launcher?: SimLauncher): SimProcess => {
    // One that is cut off ends when it runs again.
    const alive = [...processes.values()].filter((process) => process.alive && !(process.isCutOff && process.frozen)).length + 1
    history.check(alive <= history.maxProcesses, () => `promise 11: ${alive} processes live; at most ${history.maxProcesses} may`)
    const process = new SimProcess(id, context, settings, faults.nextStart(), files, launcher)
    world.trace(`worker ${id} is started`)
    processes.set(id, process)
    return process
  }
  if (config.launcher === 'host') return { launcher: (id) => start(id, openFiles(world, coverage, settings)), system: undefined }
  const requestedAt = new Map<number, number>()
  const killedEarly = new Set<number>()
  const system = new SimLauncherSystem(context, settings, (id, files, launcher) => {
    const process = start(id, files, launcher)
    process.startedAt = requestedAt.get(id)!
    if (killedEarly.has(id)) process.noteKill(0)
    return process
  })
  // With killTree, what is left of a worker is killed once more after its exit.
  const launch = launcherProcess({ ...settings, killTree: config.seed % 2 === 0 }, system)
  const launcher = (id: number): ReturnType<Launcher> => {
    requestedAt.set(id, world.now)
    world.mayHaveSettled = true
    const launched = launch(id)
    const kill = launched.kill.bind(launched)
    const unsent = launched.lifeline
    launched.kill = () => {
      const process = processes.get(id)
      if (process === undefined) killedEarly.add(id)
      else if (process.alive) process.noteKill(unsent.writableLength)
      kill()
    }
    return launched
  }
  return { launcher: Object.assign(launcher, { close: launch.close }), system }
}
