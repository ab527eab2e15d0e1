import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/queue/store/sqlite/database/node-sqlite.js'
import { World } from '../../simulation/world.js'
import { Checker } from './checker.js'
import { contexts, type TimeContext } from './clock.js'
import type { Coverage } from './coverage.js'
import { FileProcess } from './file-process.js'
import { QUEUES } from './host.js'
import { MemoryProcess, ObservedDatabase } from './memory-process.js'
import { EPOCH, type Machine } from './process.js'
import { Script } from './script.js'
import { FileReader, readMemory } from './snapshot.js'
import { forgetSockets } from './sockets.js'

/** What one run is made from; everything else follows from `seed`. */
export interface RunConfig {
  readonly store: 'sqlite' | 'memory'
  readonly seed: number
  readonly processes: number
  /** Jobs that a process has at a time. */
  readonly width: number
}

export interface RunReport {
  readonly violations: readonly string[]
  /** One line for each event; empty without `traced`. */
  readonly trace: readonly string[]
  readonly steps: number
}

/** A file in memory, where the machine has such a folder: the disk is not what is tested. */
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** One run: executes `steps` on the processes of one store, and checks it after each commit. */
export const play = async (config: RunConfig, steps: readonly number[], coverage: Coverage, traced = false): Promise<RunReport> => {
  const world = new World(config.seed, traced)
  const checker = new Checker(world, coverage)
  const machine: Machine = { world, checker, wallOffset: 0, lockedUntil: 0, atDiskUntil: 0, fullUntil: 0 }
  checker.wall = () => Math.floor(EPOCH + world.now + machine.wallOffset)
  coverage.runs++
  return config.store === 'memory' ? playInMemory(config, steps, machine) : playInFile(config, steps, machine)
}

const playSteps = async (script: Script, steps: readonly number[], { checker, world }: Machine): Promise<RunReport> => {
  let played = 0
  try {
    for (const step of steps) {
      await script.step(step)
      checker.coverage.steps++
      if (checker.violations.length > 0) break
      played++
    }
    if (checker.violations.length === 0) await script.settle()
    if (checker.violations.length === 0) await script.close()
  } catch (error) {
    checker.violate(`an error was thrown: ${(error as Error).stack}`)
  }
  return { violations: checker.violations, trace: world.traceLines ?? [], steps: played }
}

const playInFile = async ({ processes, width }: RunConfig, steps: readonly number[], machine: Machine): Promise<RunReport> => {
  const path = join(folder, `prefork-simulation-${process.pid}-${randomBytes(4).toString('hex')}.db`)
  forgetSockets()
  const { checker } = machine
  let reader: FileReader | undefined
  try {
    const script = new Script(machine, processes, width, (name) => new FileProcess(name, machine, path))
    reader = new FileReader(openDatabase(path))
    checker.read = (before, sessionsOnly) => (sessionsOnly ? { ...before, sessions: reader!.readSessions() } : reader!.read())
    const report = await playSteps(script, steps, machine)
    const damage = reader.damage()
    if (damage !== undefined) checker.violate(`the file is damaged: ${damage}`)
    for (const each of checker.processes.values()) each.kill()
    return report
  } finally {
    reader?.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  }
}

const playInMemory = async ({ processes, width }: RunConfig, steps: readonly number[], machine: Machine): Promise<RunReport> => {
  const { world, checker } = machine
  const shared: TimeContext = {
    monotonic: () => 5_000_000 + world.now,
    wall: checker.wall,
    random: () => world.random.next(),
    after: (ms, fn) => {
      world.schedule(ms, () => {
        world.mayHaveSettled = true
        contexts.run(shared, fn)
      })
    },
    block: () => {},
  }
  const database = new ObservedDatabase()
  checker.read = () => readMemory(database, QUEUES)
  checker.copiesAnswers = true
  database.committed = (process) => checker.committed(process)
  const script = new Script(machine, processes, width, (name) => new MemoryProcess(name, machine, database, shared))
  return playSteps(script, steps, machine)
}
