import { closeSync, openSync } from 'node:fs'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS, type WorkerConfig } from '../wire/messages.js'
import type { LaunchedProcess, Launcher } from './launcher.js'

/** Descriptors that a spawn needs for a moment: both ends of each pipe, and what libuv uses itself. */
const SPAWN_DESCRIPTORS = 14

export interface LaunchOptions {
  entry: URL
  config: Omit<WorkerConfig, 'id'>
  execArgv: readonly string[]
  env: Record<string, string | undefined>
  cwd: string | undefined
}

/** Starts workers as child processes of the host, through execa. */
export const execaLauncher = ({ entry, config, execArgv, env, cwd }: LaunchOptions): Launcher => {
  const entryPath = fileURLToPath(entry)
  const launch: Launcher = (id) => {
    const workerConfig: WorkerConfig = { ...config, id }
    const shortage = descriptorShortage()
    if (shortage !== undefined) return neverStarted(Promise.reject(shortage))
    const subprocess = execa(process.execPath, [...execArgv, entryPath, JSON.stringify(workerConfig)], {
      // The pool reads every byte itself and judges every exit itself.
      buffer: false,
      reject: false,
      // No exit hook and no signal handler in the host: the lifeline ends orphans.
      cleanup: false,
      // A session, so a process group, of its own: a terminal's Ctrl-C reaches the host alone.
      detached: true,
      extendEnv: false,
      env: { ...definedOnly(env), PREFORK_WORKER_ID: String(id) },
      ...(cwd === undefined ? {} : { cwd }),
      // stderr always passes through the host, which keeps its last lines for the error of a job that is lost.
      stdio: ['ignore', config.output === 'capture' ? 'pipe' : config.output, 'pipe', 'pipe', 'pipe', 'pipe'],
    } as const)
    const pid = subprocess.pid
    if (pid === undefined) return neverStarted(subprocess)
    const streams = subprocess.stdio as unknown as (Socket | null)[]
    subprocess.unref()
    for (const stream of streams) stream?.unref?.()
    const kill = (target: number): void => {
      try {
        process.kill(target, 'SIGKILL')
      } catch {
        // Gone already.
      }
    }
    return {
      pid,
      jobs: streams[FD_JOBS]!,
      results: streams[FD_RESULTS]!,
      lifeline: streams[FD_LIFELINE]!,
      stdout: streams[1] ?? undefined,
      stderr: streams[2] ?? undefined,
      onExit: (fn) => {
        subprocess.once('exit', (exitCode, signal) => fn({ exitCode, signal }))
      },
      kill: () => kill(config.killTree ? -pid : pid),
      killRest: () => {
        if (config.killTree) kill(-pid)
      },
    }
  }
  // Whatever the host has done to what a spawn needs, it is told as a start that failed.
  return (id) => {
    try {
      return launch(id)
    } catch (error) {
      return neverStarted(Promise.reject(error))
    }
  }
}

/**
 * A spawn that runs out of descriptors half way makes execa throw and leaves a child behind whose error nobody hears, which
 * ends the host. So the room is tried first.
 */
const descriptorShortage = (): Error | undefined => {
  const open: number[] = []
  try {
    while (open.length < SPAWN_DESCRIPTORS) open.push(openSync('/dev/null', 'r'))
    return undefined
  } catch (cause) {
    return new Error(`No worker process could be started: too many files are open in this process (${(cause as NodeJS.ErrnoException).code}; see ulimit -n).`, {
      cause,
    })
  } finally {
    for (const fd of open) closeSync(fd)
  }
}

/** No process could be made (no such directory, no descriptor left, no memory): it has no streams, and its exit says why. */
const neverStarted = (subprocess: PromiseLike<{ cause?: unknown; shortMessage?: string }>): LaunchedProcess => {
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
    onExit: (fn) => {
      const tell = (reason: unknown): void =>
        fn({ exitCode: null, signal: null, error: reason instanceof Error ? reason : new Error('The worker process could not be started.') })
      subprocess.then(({ cause, shortMessage }) => tell(cause ?? new Error(shortMessage)), tell)
    },
    kill: () => {},
    killRest: () => {},
  }
}

const definedOnly = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
