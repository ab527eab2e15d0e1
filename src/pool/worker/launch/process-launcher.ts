import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS, type WorkerConfig } from '../../../wire/messages.js'
import { FileRecord } from './acceptance-record.js'
import type { LaunchedProcess, Launcher } from './launcher.js'

export interface LaunchOptions {
  entry: URL
  config: Omit<WorkerConfig, 'id' | 'record'>
  execArgv: readonly string[]
  env: Record<string, string | undefined>
  cwd: string | undefined
}

export const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Starts workers as child processes of the host. */
export const processLauncher = ({ entry, config, execArgv, env, cwd }: LaunchOptions): Launcher => {
  const entryPath = fileURLToPath(entry)
  const launch = (id: number, record: FileRecord | undefined): LaunchedProcess => {
    const workerConfig: WorkerConfig = { ...config, id, record: record !== undefined }
    const subprocess = spawn(process.execPath, [...execArgv, entryPath, JSON.stringify(workerConfig)], {
      // A session, so a process group, of its own: a terminal's Ctrl-C reaches the host alone. The lifeline ends orphans.
      detached: true,
      env: { ...definedOnly(env), PREFORK_WORKER_ID: String(id) },
      cwd,
      // stderr always passes through the host, which keeps its last lines for the error of a job that is lost.
      stdio: ['ignore', config.output === 'capture' ? 'pipe' : config.output, 'pipe', 'pipe', 'pipe', 'pipe', ...(record === undefined ? [] : [record.fd])],
    })
    const pid = subprocess.pid
    if (pid === undefined) return neverStarted(errorOf(subprocess, cwd), record)
    // After the start, an error means that the process could not be killed.
    subprocess.on('error', () => {})
    const streams = subprocess.stdio as unknown as (Socket | null)[]
    subprocess.unref()
    for (const stream of streams) stream?.unref?.()
    const kill = (target: number): void => {
      try {
        process.kill(target, 'SIGKILL')
      } catch {
        // The process is gone already.
      }
    }
    return {
      pid,
      jobs: streams[FD_JOBS]!,
      results: streams[FD_RESULTS]!,
      lifeline: streams[FD_LIFELINE]!,
      stdout: streams[1] ?? undefined,
      stderr: streams[2] ?? undefined,
      record,
      onExit: (fn) => void subprocess.once('exit', (exitCode, signal) => fn({ exitCode, signal })),
      kill: () => kill(config.killTree ? -pid : pid),
      killRest: () => {
        if (config.killTree) kill(-pid)
      },
    }
  }
  // An error that spawn() throws counts as a failed start.
  return (id) => {
    const record = FileRecord.open()
    try {
      return launch(id, record)
    } catch (error) {
      return neverStarted(Promise.resolve(error), record)
    }
  }
}

/** Why no process could be made: no descriptor left, no such directory, no memory. */
const errorOf = async (subprocess: ChildProcess, cwd: string | undefined): Promise<unknown> => {
  const [error] = (await once(subprocess, 'error')) as [NodeJS.ErrnoException]
  // Node's error names the executable, which is there.
  if ((error.code === 'ENOENT' || error.code === 'ENOTDIR') && cwd !== undefined && !isDirectory(cwd))
    return new Error(`No worker process could be started: its working directory is gone (${cwd}, the option 'cwd'). Make it again.`, { cause: error })
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return error
  return new Error(`No worker process could be started: too many files are open in this process (${error.code}; see ulimit -n).`, { cause: error })
}

/** A process that could not be made: its streams are empty, and its exit has the error. */
const neverStarted = (reason: Promise<unknown>, record: FileRecord | undefined): LaunchedProcess => {
  const nothing = (): PassThrough => {
    const stream = new PassThrough()
    stream.on('error', () => {})
    return stream
  }
  return {
    pid: undefined,
    jobs: nothing(),
    results: nothing(),
    lifeline: nothing(),
    stdout: undefined,
    stderr: undefined,
    record,
    onExit: (fn) => {
      void reason.then((error) =>
        fn({ exitCode: null, signal: null, error: error instanceof Error ? error : new Error('The worker process could not be started.') }),
      )
    },
    kill: () => {},
    killRest: () => {},
  }
}

const definedOnly = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
