import { existsSync, statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PoolClosedError, WorkerLostError, WorkerStartError } from '../wire/errors.js'
import { deathCause, missingPermission } from './fleet/death-cause.js'
import type { JobRecord } from './jobs/job.js'
import type { Settings } from './options.js'
import { StartTimeoutError } from './worker/phase-deadline.js'
import type { PoolWorker } from './worker/worker.js'

/** The errors with which jobs are refused, cancelled and lost, and their messages. */

/** The pool kills a worker only by SIGKILL. At any other exit, the worker ended itself, even if the pool was about to kill it. */
const endedByItself = ({ exit }: PoolWorker): boolean => exit !== undefined && (exit.exitCode !== null || (exit.signal !== null && exit.signal !== 'SIGKILL'))

const howItEnded = (worker: PoolWorker, settings: Settings): string => {
  const { exit, killReason } = worker
  const pid = `worker ${worker.id} (pid ${worker.pid ?? 'none'})`
  if (killReason !== undefined && !endedByItself(worker)) return `${pid} was ended: ${killReason.error?.message ?? `${killReason.reason}.`}`
  const cause = deathCause(worker, settings)
  if (cause !== undefined) return `${pid} ${cause.sentence}.`
  if (exit?.signal) return `${pid} was killed by ${exit.signal}.`
  if (exit?.exitCode !== undefined && exit.exitCode !== null) return `${pid} exited with code ${exit.exitCode}.`
  return `${pid} is gone.`
}

export const lostReason = (worker: PoolWorker): WorkerLostError['reason'] => {
  if (worker.killReason !== undefined && !endedByItself(worker)) return worker.killReason.reason
  return worker.exit?.signal ? 'signal' : 'exit'
}

/** The end of a run with its worker, for the history of its job. It names the job because of which the pool killed the worker, where there is one. */
export const endedWith = (worker: PoolWorker, settings: Settings): string => `ended with worker ${worker.id}: ${briefCause(worker, settings)}`

const briefCause = (worker: PoolWorker, settings: Settings): string => {
  const { exit, killReason } = worker
  if (killReason !== undefined && !endedByItself(worker)) return killReason.brief ?? killReason.error?.message.replace(/\.$/, '') ?? killReason.reason
  const cause = deathCause(worker, settings)
  if (cause !== undefined) return cause.brief
  if (exit?.signal) return `killed by ${exit.signal}`
  return exit?.exitCode === undefined || exit.exitCode === null ? 'it is gone' : `it exited with code ${exit.exitCode}`
}

/** A job in the reason of a kill. */
export const jobInBrief = ({ id, name }: JobRecord): string => `job '${id}' (task '${name}')`

/** Why the worker ended, in short. */
export const deathReason = (worker: PoolWorker): string => worker.killReason?.error?.message ?? lostReason(worker)

const details = (worker: PoolWorker, accepted: boolean) => ({
  accepted,
  reason: lostReason(worker),
  exitCode: worker.exit?.exitCode ?? null,
  signal: worker.exit?.signal ?? null,
  stderr: worker.stderr,
})

/** The worker died while it ran the job. */
export const lostError = (worker: PoolWorker, job: JobRecord, settings: Settings): WorkerLostError => {
  return new WorkerLostError(`The job '${job.name}' was lost: ${howItEnded(worker, settings)}`, details(worker, true))
}

/** Worker after worker died with the job in its pipe. If the job was to run again, it has begun before. */
export const putBackTooOften = (worker: PoolWorker, job: JobRecord, settings: Settings): WorkerLostError => {
  const again = job.attempt > 1
  const message = `The job '${job.name}' never began${again ? ' again' : ''}: ${job.putBacks} workers died before they accepted it. The last: ${howItEnded(worker, settings)}`
  return new WorkerLostError(message, { ...details(worker, again), reason: 'put back too often' })
}

/** The pool was terminated before the job had ended, or had even begun. */
export const poolClosedError = (job: { name: string }, accepted: boolean): PoolClosedError =>
  new PoolClosedError(`The pool was terminated before the job '${job.name}' had ${accepted ? 'ended' : 'begun'}.`, accepted)

/** The pool closed during `pool.restart()`. */
export const restartCutShort = (): PoolClosedError =>
  new PoolClosedError('The pool was closed before pool.restart() was through: some workers may not have been replaced.')

/** A call after close() or terminate(). */
export const closedError = (call: string): PoolClosedError => new PoolClosedError(`${call} is refused: the pool is closed or closing; nothing was run.`)

/** The pool closed during a map whose submitted jobs have all succeeded. */
export const mapCutShort = (submitted: number): PoolClosedError =>
  new PoolClosedError(
    `The pool was closed before pool.map() had taken its source to the end: ${submitted} ${submitted === 1 ? 'job was' : 'jobs were'} run, and the results delivered; nothing else was run.`,
  )

/** The first line of what a module has thrown: it may throw anything, also what cannot be converted to a string. */
const lineOf = (thrown: unknown): string => {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown).split('\n', 1)[0]!
  } catch {
    return 'it threw an object that has no text'
  }
}

const NOT_FOUND = 'ERR_MODULE_NOT_FOUND'

const noSuchFile = (module: string, { relativeTasks }: Settings): string => {
  const given = relativeTasks.get(pathToFileURL(module).href)
  const hint = `; '${given}' is relative to the working directory. For a path beside the calling module, pass new URL('${given}', import.meta.url)`
  return `there is no such file${given === undefined ? '' : hint}.`
}

/** The task module itself does not exist. Undefined: it does. */
const missingModule = (module: string, error: unknown, settings: Settings): string | undefined => {
  const { code } = (error ?? {}) as { code?: unknown }
  return (code === NOT_FOUND || code === 'MODULE_NOT_FOUND') && !existsSync(module) ? noSuchFile(module, settings) : undefined
}

/** Options with which Node may find a module under another name: `tsx` finds `tasks.ts` for `tasks.js`. */
const LOADER = /^(-r|--require|--import|--loader|--experimental-loader)\b/

/** A task module that no worker will find, before any is started. Undefined: there is none, or only a worker can tell. */
export const missingTasks = (settings: Settings): WorkerStartError | undefined => {
  const { tasks, execArgv, env } = settings
  const options = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)]
  // A host under --permission does not see every file.
  if (process.permission !== undefined || options.some((arg) => LOADER.test(arg))) return undefined
  const module = tasks.map((url) => fileURLToPath(url)).find((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true)
  if (module === undefined) return undefined
  const cause = Object.assign(new Error(`Cannot find module '${module}'`), { code: NOT_FOUND })
  const reason = existsSync(module) ? 'it is a folder. Name the module in it, such as index.js.' : noSuchFile(module, settings)
  return new WorkerStartError(`No worker can be started: ${module}: ${reason}`, { cause })
}

/** How Node.js exits when it does not know one of its options. */
const INVALID_OPTION = 9
/** What it prints then, behind its own path. */
const REFUSED_OPTION = /^\S*: (.*(?:bad option|requires an argument|NODE_OPTIONS).*)$/m

const loaderHint = (error: unknown): string =>
  (error as { code?: unknown } | null)?.code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[cm]?tsx?"/.test(lineOf(error))
    ? ". Give the workers a loader: execArgv: ['--import', 'tsx'], or run Node 22.18 or later"
    : ''

/** Why a worker could not be started. */
export const startError = (worker: PoolWorker, attempts: number, settings: Settings): WorkerStartError => {
  const { startFailure, exit, killReason, stderr } = worker
  const refused = (reason: string, cause?: unknown): WorkerStartError => {
    const tries = `${attempts} ${attempts === 1 ? 'start' : 'starts'} failed`
    return new WorkerStartError(`No worker could be started (${tries}): ${reason}`, { stderr, ...(cause !== undefined && { cause }) })
  }
  if (startFailure !== undefined) {
    const { module, error } = startFailure
    return refused(`${module}: ${missingPermission(error, '') ?? missingModule(module, error, settings) ?? `${lineOf(error)}${loaderHint(error)}`}`, error)
  }
  const error = exit?.error ?? killReason?.error
  const permission = missingPermission(error, stderr)
  if (permission !== undefined) return refused(`${permission}.`, error)
  const option = exit?.exitCode === INVALID_OPTION ? REFUSED_OPTION.exec(stderr)?.[1] : undefined
  if (option !== undefined) return refused(`Node.js ${process.version} says of its options (execArgv, NODE_OPTIONS): ${option}.`, error)
  const modules = settings.tasks.map((url) => fileURLToPath(url)).join(', ')
  const ended = exit?.exitCode === 0 ? ', where something calls process.exit()' : ''
  const loading =
    worker.upAt !== 0 || exit?.error !== undefined || (error instanceof StartTimeoutError && error.at !== undefined)
      ? ''
      : `. It was to load ${modules}${ended}.`
  const reason = error === undefined ? howItEnded(worker, settings) : lineOf(error)
  return refused(`${reason.replace(/\.$/, '')}${loading}`, error)
}
