import type { HubReadable, HubWritable } from '../../hub/index.js'

/** How a process ended. `error`: it could not be started at all. */
export interface ProcessExit {
  exitCode: number | null
  signal: string | null
  error?: Error
}

/** One started process. */
export interface LaunchedProcess {
  readonly pid: number | undefined
  readonly jobs: HubWritable
  readonly results: HubReadable
  readonly lifeline: HubReadable & HubWritable
  readonly stdout: HubReadable | undefined
  readonly stderr: HubReadable | undefined
  /** Called once, when the process is gone (or could not be started). */
  onExit(fn: (exit: ProcessExit) => void): void
  /** SIGKILL, to the process or, with killTree, to its group. Does nothing when it is gone. */
  kill(): void
  /** Ends what the process left behind in its group, once it is gone. */
  killRest(): void
}

/** Starts workers: the only place that knows how. A launcher process that spares a large host from forking can take its place. */
export type Launcher = (workerId: number) => LaunchedProcess
