import type { Settings } from '../options.js'
import type { PoolWorker } from '../worker/worker.js'

/** Causes that a message names first, in place of the signal or the exit code that they lead to. */

const OUT_OF_HEAP = /^FATAL ERROR: .*heap out of memory/m
const HEAP_OPTION = /(?:^|\s)--max[-_]old[-_]space[-_]size[=\s](\d+)(?=\s|$)/g

/** V8 aborts when its heap is exhausted. */
const ABORT_SIGNALS: readonly unknown[] = ['SIGABRT', 'SIGTRAP', 'SIGILL']

/** The settings that may hold options of Node for a worker. */
type NodeOptions = Pick<Settings, 'env' | 'execArgv'>

/** The limit that the worker was given, in the words of its option. The command line beats NODE_OPTIONS. */
const heapLimit = ({ env, execArgv }: NodeOptions): string => {
  const options = [env.NODE_OPTIONS ?? '', ...execArgv].join(' ')
  const given = [...options.matchAll(HEAP_OPTION)].at(-1)?.[1]
  return given === undefined ? '(--max-old-space-size raises its limit)' : `(--max-old-space-size, ${given} MB)`
}

/** A cause with a name. */
export interface DeathCause {
  /** What the worker did, for a sentence about it. */
  readonly sentence: string
  /** For the record of its jobs. */
  readonly brief: string
}

/** What the kernel or V8 did to the worker. Undefined: nothing that has a name. */
export const deathCause = (worker: PoolWorker, settings: NodeOptions): DeathCause | undefined => {
  if (ABORT_SIGNALS.includes(worker.exit?.signal) && OUT_OF_HEAP.test(worker.stderr)) {
    const limit = heapLimit(settings)
    return { sentence: `ran out of JavaScript heap ${limit}`, brief: `heap out of memory ${limit}` }
  }
  return worker.oomKilled ? { sentence: 'was killed by the kernel for memory (SIGKILL)', brief: 'killed by the kernel for memory (SIGKILL)' } : undefined
}

const FLAGS: Readonly<Record<string, string>> = {
  ChildProcess: '--allow-child-process',
  WorkerThreads: '--allow-worker',
  FileSystemRead: '--allow-fs-read',
  FileSystemWrite: '--allow-fs-write',
  Addon: '--allow-addons',
  Inspector: '--allow-inspector',
  Net: '--allow-net',
  WASI: '--allow-wasi',
}

const missing = (permission: string, resource: string | undefined): string | undefined => {
  const flag = FLAGS[permission]
  if (flag === undefined) return undefined
  const place = permission.startsWith('FileSystem') && resource ? `=${resource}` : ''
  return `Node runs with --permission, and without ${flag}${place}${flag === FLAGS.WorkerThreads ? ' (which the watchdog needs; `watchdog: false` does without)' : ''}`
}

/** The flag for want of which a start failed, from the error or from what Node printed. Undefined: none was missing. */
export const missingPermission = (error: unknown, stderr: string): string | undefined => {
  const { code, permission, resource } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  if (code === 'ERR_ACCESS_DENIED' && typeof permission === 'string') return missing(permission, typeof resource === 'string' ? resource : undefined)
  const printed = /code: 'ERR_ACCESS_DENIED',\s+permission: '(\w+)'(?:,\s+resource: '(.*)')?/.exec(stderr)
  return printed === null ? undefined : missing(printed[1]!, printed[2])
}
