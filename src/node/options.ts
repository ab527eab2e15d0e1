import { randomInt } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { environment } from '../pool/option-checks.js'
import { SHARED_MEMORY } from '../pool/options.js'
import { JOB_OPTIONS } from '../runtime/options.js'
import {
  bytesOrZero,
  type Check,
  checkLimits,
  choice,
  countFrom,
  milliseconds,
  millisecondsOrZero,
  OptionError,
  refusal,
  workerMemory,
} from '../util/checks.js'
import { LIMITS, MAX_NICENESS } from '../util/limits.js'
import { type OptionTable, type OptionValues, option, readOptions } from '../util/option-table.js'
import type { NodeOptions } from './types.js'

/** Returns a list, also for a single value. */
const files: Check<(URL | string)[]> = (name, given) => {
  const several = Array.isArray(given)
  const wants = `a path, a file: URL${several ? '' : ', or an array of them'}: new URL('./tasks.js', import.meta.url)`
  return (several ? given : [given]).map((each: unknown, index) => {
    if (each instanceof URL ? each.protocol !== 'file:' : typeof each !== 'string' || each === '')
      throw refusal(several ? `${name}[${index}]` : name, wants, each instanceof URL ? each.href : each)
    return each as URL | string
  })
}

const pathOf = (given: URL | string): string => (given instanceof URL || given.startsWith('file:') ? fileURLToPath(given) : resolve(given))

/** Returns real paths. */
const folders: Check<string[]> = (name, given) =>
  files(name, given).map((each) => {
    const path = pathOf(each)
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw refusal(name, 'folders that exist', path)
    return realpathSync(path)
  })

/** Returns arguments for `node --import`: './boot.js' is a path, 'package/register' a package. */
const importable: Check<string[]> = (name, given) =>
  files(name, given).map((each) => {
    if (each instanceof URL) return each.href
    return /^(\.{0,2}\/|file:)/.test(each) ? pathToFileURL(pathOf(each)).href : each
  })

/** The name of a node. */
export const nodeName: Check<string> = (name, value) => {
  if (typeof value !== 'string' || !/^[\w.@:-]{1,200}$/.test(value)) throw refusal(name, 'a name of letters, digits and . _ @ : - (at most 200)', value)
  return value
}

/** `<host>-<pid>-<4 random letters>` */
export const defaultNodeName = (): string => {
  const letters = Array.from({ length: 4 }, () => String.fromCharCode(97 + randomInt(26))).join('')
  return `${hostname()}-${process.pid}-${letters}`
}

const workers = countFrom(1, LIMITS.workers)
const jobsPerWorker = countFrom(1, LIMITS.jobsPerWorker)

const atLeastMin = ({ minWorkers }: { minWorkers: number }): number => Math.max(10, minWorkers)
const atLeastConcurrency = ({ concurrency }: { concurrency: number }): number => Math.max(10, concurrency)

/** The options of a node, whatever its broker. */
export const NODE_OPTIONS = {
  tasks: option(
    'module',
    files,
    (): (URL | string)[] => [],
    'a `URL`, a `file:` URL or a path, or an array of them: the modules whose exported functions are the tasks',
    'required',
  ),
  roots: option('folder', folders, (): string[] => [], 'a job may name its task `module/path#export` below these folders; may replace `tasks`', 'no folder'),
  imports: option('module', importable, (): string[] => [], 'modules that each worker loads before any task', 'no module'),
  env: option('object', environment, undefined, 'the environment of the workers', "the node's"),
  name: option('text', nodeName, defaultNodeName, "the node's name, unique among all nodes: letters, digits and `.` `_` `@` `:` `-`", 'generated'),
  minWorkers: option('workers', workers, 1, 'minimum number of workers'),
  maxWorkers: option('workers', workers, atLeastMin, 'maximum number of workers; the default is `minWorkers` if that is more'),
  concurrency: option('jobs', jobsPerWorker, 1, 'jobs that run at once in each worker; above 1, the jobs share a process and its death'),
  prefetchPerWorker: option(
    'jobs',
    jobsPerWorker,
    atLeastConcurrency,
    'jobs that the node holds for each worker, at most; the default is `concurrency` if that is more',
    '10',
  ),
  scaleUpAfter: option('ms', milliseconds, 250, 'time that jobs must have waited before a worker is started for them'),
  scaleUpBatch: option('workers', workers, 2, 'workers that start at once, at most; or as many as there are CPUs'),
  keepAlive: option('ms', milliseconds, 30_000, 'a worker above `minWorkers` that was not needed for so long is retired'),
  scaleDownBatch: option('workers', workers, 1, 'idle workers retired at once'),
  scaleCheckInterval: option('ms', milliseconds, 1_000, 'time between two checks of the backlog while a slot is free, and between two retirements'),
  softTimeLimit: option('ms', milliseconds, undefined, "time until a task's signal aborts, unless its message or the task sets one"),
  timeLimit: option('ms', milliseconds, undefined, "time until a task's worker is killed, unless its message or the task sets one"),
  ...JOB_OPTIONS,
  maxJobsPerWorker: option('jobs', countFrom(1), undefined, 'a worker is replaced after so many jobs'),
  maxMemoryPerWorker: option('bytes', workerMemory, undefined, 'a worker above it is replaced after its jobs, above 1.5 times it killed'),
  niceness: option(
    'nice',
    countFrom(0, MAX_NICENESS),
    // A node has no requests of its own to answer.
    0,
    "nice value of a worker's main thread, 0 to 19, or the node's where that is higher; above 0, the node gets the CPU first",
  ),
  launcher: option(
    'mode',
    choice('host', 'process'),
    'host',
    "what starts the workers: `'host'`, the node's own process, or `'process'`, a small one beside it",
  ),
  sharedMemory: option('bytes', bytesOrZero, undefined, SHARED_MEMORY, '16 MiB for each worker'),
  maxStall: option('ms', milliseconds, undefined, 'a worker whose event loop has not turned for so long is ended'),
  cancelGrace: option('ms', milliseconds, 1_000, 'time that a task has to react to a cancellation or a soft limit, before its worker is ended'),
  shutdownGrace: option('ms', millisecondsOrZero, 15_000, 'time that jobs in flight have when the node shuts down'),
  heartbeatInterval: option('ms', milliseconds, 1_000, 'time between two heartbeats, of workers and of the node'),
} satisfies OptionTable<NodeOptions>

/** The options as the node uses them: checked, defaults filled in. Times in ms; limits that are off are undefined. */
export type NodeSettings = OptionValues<typeof NODE_OPTIONS>

/** Validates the options of a node. Throws TypeError naming the option. */
export const readNodeOptions = (given: unknown): NodeSettings => {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError("A node wants an options object: { tasks: new URL('./tasks.js', import.meta.url) }.")
  const settings = readOptions(NODE_OPTIONS, 'the node', given)
  const { tasks, roots, minWorkers, maxWorkers, prefetchPerWorker, concurrency } = settings
  if (tasks.length === 0 && roots.length === 0)
    throw new OptionError('tasks', "is missing: the module or modules whose exported functions are the tasks (or 'roots', below which messages name them)")
  if (maxWorkers < minWorkers) throw refusal('maxWorkers', `at least minWorkers, ${minWorkers}`, maxWorkers)
  if (concurrency > prefetchPerWorker)
    throw refusal('concurrency', `at most prefetchPerWorker, ${prefetchPerWorker} (a worker cannot run more than the node holds for it)`, concurrency)
  checkLimits(settings)
  return settings
}
