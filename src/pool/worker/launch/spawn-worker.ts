import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { WorkerConfig } from '../../../wire/messages.js'

/** How all workers of a pool are started. */
export interface SpawnOptions {
  /** The file that a worker runs. */
  readonly entryPath: string
  readonly config: Omit<WorkerConfig, 'id' | 'record'>
  readonly execArgv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string | undefined
}

export const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Descriptors of the files that a worker shares with its host: its acceptance record, and the memory for large arguments, which only goes with a record. */
export interface SharedDescriptors {
  readonly record: number | undefined
  readonly memory: number | undefined
}

/** Starts a worker as a child of this process. What spawn() throws, or emits as `error`, is for `startError`. */
export const spawnWorker = ({ entryPath, config, execArgv, env, cwd }: SpawnOptions, id: number, { record, memory }: SharedDescriptors): ChildProcess => {
  const workerConfig: WorkerConfig = { ...config, id, record: record !== undefined, placeBytes: memory === undefined ? 0 : config.placeBytes }
  return spawn(process.execPath, [...execArgv, entryPath, JSON.stringify(workerConfig)], {
    // A session, so a process group, of its own: a terminal's Ctrl-C reaches the host alone. The lifeline ends orphans.
    detached: true,
    env: { ...definedOnly(env), PREFORK_WORKER_ID: String(id) },
    cwd,
    // stderr always passes through the host, which keeps its last lines for the error of a job that is lost.
    stdio: [
      'ignore',
      config.output === 'capture' ? 'pipe' : config.output,
      'pipe',
      'pipe',
      'pipe',
      'pipe',
      ...[record, memory].filter((fd) => fd !== undefined),
    ],
  })
}

/** Why no process could be made: no descriptor left, no such directory, no memory. */
export const startError = async (subprocess: ChildProcess, cwd: string | undefined): Promise<unknown> => {
  const [error] = (await once(subprocess, 'error')) as [NodeJS.ErrnoException]
  // Node's error names the executable, which is there.
  if ((error.code === 'ENOENT' || error.code === 'ENOTDIR') && cwd !== undefined && !isDirectory(cwd))
    return new Error(`No worker process could be started: its working directory is gone (${cwd}, the option 'cwd'). Make it again.`, { cause: error })
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return error
  return tooManyFiles(error)
}

const tooManyFiles = (cause: NodeJS.ErrnoException): Error =>
  new Error(`No worker process could be started: too many files are open in this process (${cause.code}; see ulimit -n).`, { cause })

/** By which another process opens a file without a name. */
export interface FilePath {
  readonly path: string
  /** Device and inode: where /proc is that of another PID namespace, the path leads to a file of another process. */
  readonly identity: string
}

export const filePathOf = ({ fd }: { readonly fd: number }): FilePath => ({ path: `/proc/${process.pid}/fd/${fd}`, identity: identityOf(fd) })

/** Undefined: there is none, or it cannot be opened. */
export const openFilePath = (file: FilePath | undefined): number | undefined => {
  if (file === undefined) return undefined
  let fd: number | undefined
  try {
    fd = openSync(file.path, constants.O_RDWR)
    if (identityOf(fd) === file.identity) return fd
  } catch {
    // No such file, or not one that can be written.
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}

const identityOf = (fd: number): string => {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  return `${dev}:${ino}`
}

/** Undefined: this process can open `count` more files. A descriptor that is sent to a process without a free one is lost, so it is asked for before. */
export const descriptorError = (count: number): Error | undefined => {
  const taken: number[] = []
  try {
    while (taken.length < count) taken.push(openSync(devNull, 'r'))
    return undefined
  } catch (error) {
    return tooManyFiles(error as NodeJS.ErrnoException)
  } finally {
    for (const fd of taken) closeSync(fd)
  }
}

/** SIGKILL to a process, or with a negative number to a group. */
export const killQuietly = (target: number): void => {
  try {
    process.kill(target, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

const definedOnly = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
