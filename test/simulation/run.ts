import { Hub } from '../../src/hub/index.js'
import { readOptions } from '../../src/pool/options.js'
import { Pool } from '../../src/pool/pool.js'
import { transitions } from '../../src/pool/worker/lifecycle.js'
import { WorkerStartError } from '../../src/wire/errors.js'
import { optionsOf, type RunConfig } from './config.js'
import { Faults } from './faults.js'
import { Host } from './host.js'
import { Judge } from './judge.js'
import { SimProcess, type Surroundings } from './process.js'
import { Script } from './script.js'
import { type Coverage, Truth } from './truth.js'
import { World } from './world.js'

export interface RunReport {
  readonly violations: readonly string[]
  readonly log: readonly string[]
}

/** One run: a pool in a simulated world, everything in `steps` done to it, and then the question whether all promises held. */
export const play = async (config: RunConfig, steps: readonly number[], coverage: Coverage, traced = false): Promise<RunReport> => {
  // Nobody else gets a turn during a run.
  await new Promise((resolve) => setImmediate(resolve))
  const { stackTraceLimit } = Error
  // Stacks travel in frames: their length must not depend on who calls.
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
  host.lookCost = config.lookCost
  const truth = new Truth(world, coverage)
  const processes = new Map<number, SimProcess>()
  const judge = new Judge(config, world, truth, coverage, processes)
  const around: Surroundings = {
    world,
    host,
    truth,
    coverage,
    weather: { latency: config.latency, cuts: config.cuts },
    capacity: config.capacity,
    answers: { latency: 0.5 },
    exitNews: { latency: 5 },
  }
  const faults = new Faults(around, processes)
  const settings = readOptions(optionsOf(config))
  if (traced) {
    const say = (details: object, message: string): void => world.say(`  the pool says: ${message} ${JSON.stringify(details)}`)
    settings.logger = { trace: say, debug: say, info: say, warn: say, error: say }
  }
  transitions.observe = (worker, from, to) => truth.transition(worker, from, to)
  const hub = new Hub(host)
  const pool = new Pool(
    settings,
    (poolId) => (id) => {
      const alive = [...processes.values()].filter((process) => process.alive).length + 1
      truth.demand(alive <= truth.processBound, () => `promise 11: ${alive} processes live, ${truth.processBound} may`)
      const process = new SimProcess(
        id,
        around,
        {
          poolId,
          concurrency: settings.concurrency,
          cancelGrace: settings.cancelGrace,
          heartbeatInterval: settings.heartbeatInterval,
          watchdog: settings.watchdog,
          maxMessageSize: settings.maxMessageSize,
          measureMemory: true,
        },
        faults.start(),
      )
      world.say(`worker ${id} is started`)
      processes.set(id, process)
      return process
    },
    hub,
  )
  pool.on('workerExit', (exit) => judge.exited(exit))
  coverage.runs++
  const script = new Script({ config, world, host, truth, judge, faults, processes, pool, hub, coverage })
  try {
    if (await script.begin()) {
      for (const step of steps) {
        await script.step(step)
        coverage.steps++
        if (truth.violations.length > 0) return { violations: truth.violations, log: world.log ?? [] }
      }
      await script.quiet()
    }
    await script.end()
    if (truth.violations.length === 0) {
      judge.verdicts()
      const left = { ...hub.registered(), ...host.leftovers, processes: [...processes.values()].filter(({ alive }) => alive).length }
      truth.demand(
        Object.values(left).every((count) => count === 0),
        () => `promise 6: something is left after the end: ${JSON.stringify(left)}`,
      )
      truth.demand(host.lifeEnded, () => 'promise 6: the pool still has a hold on the host')
    }
  } catch (error) {
    truth.violated(error instanceof WorkerStartError ? `promise 8: no worker could be started: ${error.message}` : `something threw: ${(error as Error).stack}`)
  }
  return { violations: truth.violations, log: world.log ?? [] }
}
