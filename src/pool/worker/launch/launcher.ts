import type { HubReadable, HubWritable } from '../../../hub/index.js'

/** How a process ended. `error`: it could not be started at all. */
export interface ProcessExit {
  exitCode: number | null
  signal: string | null
  error?: Error
}

/** The record in which a worker notes the jobs that it accepts without an ACCEPTED. Times are ms on the hub's clock. */
export interface AcceptanceRecord {
  /** The monotonic clock of the machine is ahead of the hub's by this, ms. */
  readonly offset: number
  /** The last delivery recorded; undefined: no delivery was recorded. */
  read(): { readonly delivery: number; readonly at: number } | undefined
  close(): void
}

/** One started process. */
export interface LaunchedProcess {
  readonly pid: number | undefined
  readonly jobs: HubWritable
  readonly results: HubReadable
  readonly lifeline: HubReadable & HubWritable
  readonly stdout: HubReadable | undefined
  readonly stderr: HubReadable | undefined
  /** Undefined where no such file can be opened. */
  readonly record: AcceptanceRecord | undefined
  /** Called once, when the process is gone (or could not be started). */
  onExit(fn: (exit: ProcessExit) => void): void
  /** SIGKILL, to the process or, with killTree, to its group. Does nothing when the process is gone. */
  kill(): void
  /** Ends what the process left behind in its group, once it is gone. */
  killRest(): void
}

/** Starts worker processes. Another implementation, such as a launcher process that spares a large host from forking, can replace this one. */
export type Launcher = (workerId: number) => LaunchedProcess
