import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OptionError } from '../util/checks.js'
import { ownFile } from '../util/own-files.js'
import { PreforkError, WorkerStartError } from '../wire/errors.js'
import { missingTasks } from './errors.js'
import type { AnyTasks } from './jobs/task-types.js'
import { readOptions, type Settings } from './options.js'
import { Pool } from './pool.js'
import type { PoolOptions } from './types.js'
import { PoolMemory, placeBytes } from './worker/launch/file-memory.js'
import { startedAhead } from './worker/launch/launcher.js'
import { launcherProcess } from './worker/launch/launcher-process.js'
import { processLauncher } from './worker/launch/process-launcher.js'
import { launcherSystem } from './worker/launch/spawn-launcher.js'
import { isDirectory } from './worker/launch/spawn-worker.js'
import { reportToWatcher } from './worker/launch/watch-mode.js'

/** Descriptors that one worker takes in the host: three pipes, the acceptance record, shared memory, stdout, stderr, and one in reserve. */
const DESCRIPTORS_PER_WORKER = 8

/** The default of `sharedMemory`, bytes: so a worker has room for some arguments and some results of a megabyte each. */
const SHARED_PER_WORKER = 16 * 1024 * 1024

/**
 * Starts a pool; resolves when the first worker is up.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws {PreforkError} `ERR_PREFORK_NESTED_START`: called while a task module loads in a worker
 */
export const createPool = async <T = AnyTasks>(options: PoolOptions): Promise<Pool<T>> => {
  const pool = makePool<T>(options)
  await whenUp(pool)
  return pool
}

/** A pool whose first worker is being started. Throws what `createPool` rejects with for its options. */
export const makePool = <T = AnyTasks>(options: PoolOptions): Pool<T> => {
  refusePlatform()
  refuseWhileLoading()
  const settings = readOptions(options)
  refuseNoDirectory(settings)
  refuseMissingTasks(settings)
  refuseTooFewDescriptors(settings)
  // At once: a module may fail before it is reported from a worker.
  reportToWatcher(settings.tasks)
  const { tasks, concurrency, cancelGrace, heartbeatInterval, watchdog, niceness, killTree, output, maxMessageSize, maxMemoryPerWorker, execArgv, env } =
    settings
  const measureMemory = maxMemoryPerWorker !== Number.POSITIVE_INFINITY
  // A worker that is replaced lives beside its successor.
  const workersAtOnce = settings.maxWorkers + settings.spare + 1
  const memory = new PoolMemory(placeBytes(settings.sharedMemory ?? SHARED_PER_WORKER * workersAtOnce, workersAtOnce), workersAtOnce)
  const config = {
    tasks,
    concurrency,
    cancelGrace,
    heartbeatInterval,
    watchdog,
    niceness,
    killTree,
    output,
    maxMessageSize,
    measureMemory,
    placeBytes: memory.capacity,
  }
  // Read now, so that later workers find files that the host's own options name relative to the working directory (--import ./setup.js).
  const cwd = settings.cwd ?? workingDirectory()
  const entryPath = fileURLToPath(ownFile('worker/entry.cjs'))
  return new Pool<T>(settings, (poolId) => {
    const spawning = { entryPath, execArgv, env, cwd, config: { poolId, ...config } }
    const launcher =
      settings.launcher === 'process'
        ? launcherProcess(config, launcherSystem(spawning, memory, fileURLToPath(ownFile('worker/launcher.cjs'))))
        : processLauncher(spawning, memory)
    return startedAhead(launcher)
  })
}

/** Resolves when the first worker is up. If no worker can be started, terminates the pool, then rejects. */
export const whenUp = async (pool: Pool): Promise<void> => {
  try {
    await pool.firstWorkerUp()
  } catch (error) {
    await pool.terminate()
    throw error
  }
}

const workingDirectory = (): string | undefined => {
  try {
    return process.cwd()
  } catch {
    // The working directory has been removed.
    return undefined
  }
}

const refusePlatform = (): void => {
  if (process.platform === 'win32')
    throw new PreforkError(
      'ERR_PREFORK_PLATFORM',
      'prefork runs on Linux and macOS; Windows is not supported yet (it has no process groups and no inherited socket pairs).',
    )
}

/** A task module that makes a pool while it loads would make a pool in each worker of that pool, and so on without end. */
const refuseWhileLoading = (): void => {
  const loading = (globalThis as Record<symbol, unknown>)[Symbol.for('prefork.loading')]
  if (typeof loading !== 'string') return
  throw new PreforkError(
    'ERR_PREFORK_NESTED_START',
    `createPool was called while the task module ${loading} loads in a worker: each worker would start a pool of its own, without end. Move createPool out of the task module, or into a function.`,
  )
}

/** A spawn in a directory that does not exist fails as if Node itself were missing. */
const refuseNoDirectory = ({ cwd }: Settings): void => {
  if (cwd !== undefined && !isDirectory(cwd)) throw new OptionError('cwd', `must be a directory; there is none at ${cwd}`)
}

const refuseMissingTasks = (settings: Settings): void => {
  const error = missingTasks(settings)
  if (error !== undefined) throw error
}

const refuseTooFewDescriptors = ({ maxWorkers, spare }: Settings): void => {
  if (process.platform !== 'linux') return
  let limit: number
  let open: number
  try {
    limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    open = readdirSync('/proc/self/fd').length
  } catch {
    return
  }
  const needed = open + (maxWorkers + spare + 1) * DESCRIPTORS_PER_WORKER
  if (!(limit < needed)) return
  throw new WorkerStartError(
    `${maxWorkers} workers need about ${needed} open files, and the limit of this process is ${limit} (${open} are open): raise it (ulimit -n ${needed}), or ask for fewer workers.`,
  )
}
