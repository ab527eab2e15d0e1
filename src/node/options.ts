import { randomInt } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { JOB_OPTIONS } from '../runtime/options.js'
import { bytes, type Check, checkLimits, countFrom, milliseconds, millisecondsOrZero, OptionError, refuse } from '../util/checks.js'
import { LIMITS } from '../util/limits.js'
import { namesOf, type OptionTable, type OptionValues, option, readOptions } from '../util/option-table.js'
import type { NodeOptions } from './types.js'

/** Returns what is given, as a list. */
const files: Check<(URL | string)[]> = (name, given) => {
  const several = Array.isArray(given)
  const wants = `a path, a file: URL${several ? '' : ', or an array of them'}: new URL('./tasks.js', import.meta.url)`
  return (several ? given : [given]).map((each: unknown, index) => {
    if (each instanceof URL ? each.protocol !== 'file:' : typeof each !== 'string' || each === '')
      throw refuse(several ? `${name}[${index}]` : name, wants, each instanceof URL ? each.href : each)
    return each as URL | string
  })
}

const pathOf = (given: URL | string): string => (given instanceof URL || given.startsWith('file:') ? fileURLToPath(given) : resolve(given))

/** Returns real paths. */
const folders: Check<string[]> = (name, given) =>
  files(name, given).map((each) => {
    const path = pathOf(each)
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw refuse(name, 'folders that exist', path)
    return realpathSync(path)
  })

/** Returns what `node --import` takes: './boot.js' is a path, 'package/register' a package. */
const importable: Check<string[]> = (name, given) =>
  files(name, given).map((each) => {
    if (each instanceof URL) return each.href
    return /^(\.{0,2}\/|file:)/.test(each) ? pathToFileURL(pathOf(each)).href : each
  })

const nodeName: Check<string> = (name, value) => {
  if (typeof value !== 'string' || !/^[\w.@:-]{1,200}$/.test(value)) throw refuse(name, 'a name of letters, digits and . _ @ : - (at most 200)', value)
  return value
}

/** `<host>-<pid>-<4 random letters>` */
export const defaultNodeName = (): string => {
  const letters = Array.from({ length: 4 }, () => String.fromCharCode(97 + randomInt(26))).join('')
  return `${hostname()}-${process.pid}-${letters}`
}

const workers = countFrom(1, LIMITS.workers)
const jobsPerWorker = countFrom(1, LIMITS.jobsPerWorker)

/** The options of a node, whatever its broker. */
export const NODE_OPTIONS = {
  tasks: option({
    unit: 'module',
    check: files,
    default: (): (URL | string)[] => [],
    defaultText: 'required',
    doc: 'a `URL`, a `file:` URL or a path, or an array of them: the modules whose exported functions are the tasks',
  }),
  roots: option({
    unit: 'folder',
    check: folders,
    default: (): string[] => [],
    defaultText: 'no folder',
    doc: 'a job may name its task `module/path#export` below these folders; may replace `tasks`',
  }),
  imports: option({
    unit: 'module',
    check: importable,
    default: (): string[] => [],
    defaultText: 'no module',
    doc: 'modules that each worker loads before any task',
  }),
  name: option({
    unit: 'text',
    check: nodeName,
    default: defaultNodeName,
    defaultText: 'generated',
    doc: "the node's name, unique among all nodes: letters, digits and `.` `_` `@` `:` `-`",
  }),
  minWorkers: option({ unit: 'workers', check: workers, default: 1, doc: 'minimum number of workers' }),
  maxWorkers: option({
    unit: 'workers',
    check: workers,
    default: ({ minWorkers }: { minWorkers: number }) => Math.max(10, minWorkers),
    doc: 'maximum number of workers; the default is `minWorkers` if that is more',
  }),
  scaleUpBatch: option({ unit: 'workers', check: workers, default: 2, doc: 'workers started at once when there is a backlog' }),
  scaleDownBatch: option({ unit: 'workers', check: workers, default: 1, doc: 'idle workers retired at once' }),
  scaleCheckInterval: option({ unit: 'ms', check: milliseconds, default: 1_000, doc: 'time between two checks of the backlog' }),
  prefetchPerWorker: option({ unit: 'jobs', check: jobsPerWorker, default: 10, doc: 'jobs that the node holds for each worker' }),
  concurrency: option({
    unit: 'jobs',
    check: jobsPerWorker,
    default: ({ prefetchPerWorker }: { prefetchPerWorker: number }) => prefetchPerWorker,
    defaultText: 'as many as held',
    doc: 'jobs that run at once in each worker, at most `prefetchPerWorker`',
  }),
  softTimeLimit: option({ unit: 'ms', check: milliseconds, doc: "time until a task's signal aborts, unless its message or the task sets one" }),
  timeLimit: option({ unit: 'ms', check: milliseconds, doc: "time until a task's worker is killed, unless its message or the task sets one" }),
  ...JOB_OPTIONS,
  maxJobsPerWorker: option({ unit: 'jobs', check: countFrom(1), doc: 'a worker is replaced after so many jobs' }),
  maxMemoryPerWorker: option({ unit: 'bytes', check: bytes, doc: 'a worker above it is replaced after its jobs, above 1.5 times it killed' }),
  maxStall: option({ unit: 'ms', check: milliseconds, doc: 'a worker whose event loop has not turned for so long is ended' }),
  shutdownGrace: option({ unit: 'ms', check: millisecondsOrZero, default: 15_000, doc: 'time that jobs in flight have when the node shuts down' }),
  heartbeatInterval: option({ unit: 'ms', check: milliseconds, default: 1_000, doc: 'time between two heartbeats, of workers and of the node' }),
} satisfies OptionTable<NodeOptions>

export const NODE_OPTION_NAMES = namesOf(NODE_OPTIONS)

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
  if (maxWorkers < minWorkers) throw refuse('maxWorkers', `at least minWorkers, ${minWorkers}`, maxWorkers)
  if (concurrency > prefetchPerWorker)
    throw refuse('concurrency', `at most prefetchPerWorker, ${prefetchPerWorker} (a worker cannot run more than it holds)`, concurrency)
  checkLimits(settings)
  return settings
}
