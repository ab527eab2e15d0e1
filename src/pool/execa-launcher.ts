import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS, type WorkerConfig } from '../wire/messages.js'
import type { LaunchedProcess, Launcher, ProcessExit } from './launcher.js'

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
  return (id) => {
    const workerConfig: WorkerConfig = { ...config, id }
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
    const streams = subprocess.stdio as unknown as (Socket | null)[]
    const pid = subprocess.pid
    subprocess.unref()
    for (const stream of streams) stream?.unref?.()
    const kill = (target: number | undefined): void => {
      if (target === undefined) return
      try {
        process.kill(target, 'SIGKILL')
      } catch {
        // Gone already.
      }
    }
    const launched: LaunchedProcess = {
      pid,
      jobs: streams[FD_JOBS]!,
      results: streams[FD_RESULTS]!,
      lifeline: streams[FD_LIFELINE]!,
      stdout: streams[1] ?? undefined,
      stderr: streams[2] ?? undefined,
      onExit: (fn) => {
        let told = false
        const tell = (exit: ProcessExit): void => {
          if (told) return
          told = true
          fn(exit)
        }
        subprocess.once('exit', (exitCode, signal) => tell({ exitCode, signal }))
        subprocess.once('error', (error) => {
          if (pid === undefined) tell({ exitCode: null, signal: null, error })
        })
        subprocess.then(
          (result) => {
            if (pid === undefined) tell({ exitCode: null, signal: null, error: (result.cause as Error | undefined) ?? new Error(result.shortMessage) })
          },
          () => {},
        )
      },
      kill: () => kill(config.killTree && pid !== undefined ? -pid : pid),
      killRest: () => {
        if (config.killTree && pid !== undefined) kill(-pid)
      },
    }
    return launched
  }
}

const definedOnly = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
