import type { HubReadable, HubWritable } from '../../../hub/index.js'
import type { SharedFile } from '../../../wire/arena/shared-file.js'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS } from '../../../wire/messages.js'
import type { FilePath, SpawnOptions } from './spawn-worker.js'

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

/** Memory that one worker shares with the host. */
export interface SharedMemory {
  /** For arguments: the host alone writes it. */
  readonly jobs: SharedFile
  /** For results: the worker alone writes it. */
  readonly results: SharedFile
  /** Bytes for places in each of the two. */
  readonly capacity: number
  /** The smallest payload that goes through it, bytes. */
  readonly from: number
  /** Gives the memory of all places back. To be called while none is in use. */
  trim(): void
  close(): void
}

/** One started process. */
export interface LaunchedProcess {
  /** Undefined: there is none, or it is not known yet. */
  readonly pid: number | undefined
  readonly jobs: HubWritable
  readonly results: HubReadable
  readonly lifeline: HubReadable & HubWritable
  readonly stdout: HubReadable | undefined
  readonly stderr: HubReadable | undefined
  /** Undefined where no such file can be opened. */
  readonly record: AcceptanceRecord | undefined
  /** Undefined: everything goes through the pipes. */
  readonly memory: SharedMemory | undefined
  /** Called once, when the process is gone (or could not be started). */
  onExit(fn: (exit: ProcessExit) => void): void
  /** SIGKILL, to the process or, with killTree, to its group. Does nothing when the process is gone. */
  kill(): void
  /** Ends what the process left behind in its group, once it is gone. */
  killRest(): void
}

/** The files that a worker shares with its host. */
export type SharedFiles = Pick<LaunchedProcess, 'record' | 'memory'>

/** Starts worker processes. */
export interface Launcher {
  (workerId: number): LaunchedProcess
  /** All workers have ended: what started them ends too. */
  close?(): Promise<void>
}

/** Starts worker 1 at once: the rest of the pool is made while that process starts. It is handed out when it is asked for, in the same turn of the event loop. */
export const startedAhead = (launcher: Launcher): Launcher => {
  let first: LaunchedProcess | undefined = launcher(1)
  const launch = (id: number): LaunchedProcess => {
    const launched = id === 1 ? first : undefined
    first = undefined
    return launched ?? launcher(id)
  }
  return Object.assign(launch, launcher.close === undefined ? {} : { close: launcher.close })
}

/**
 * The pipes of a worker, in the order in which a launcher process hands them over. By its results the host sees that a worker is up: when they
 * come it has all others, and no job was sent before.
 */
export const HAND_OVER_ORDER = [1, 2, FD_JOBS, FD_LIFELINE, FD_RESULTS]

/** By which the launcher process opens the files that a worker shares with its host. */
export interface SharedPaths {
  readonly record: FilePath | undefined
  readonly memory: FilePath | undefined
}

/** What the host sends to its launcher process. */
export type LauncherRequest =
  /** Comes first. */
  | ({ readonly op: 'setup' } & SpawnOptions)
  /** The paths of its acceptance record and of the memory for its arguments. */
  | ({ readonly op: 'start'; readonly id: number } & SharedPaths)
  | { readonly op: 'kill'; readonly id: number }
  /** What is left of the group of a worker that has ended. */
  | { readonly op: 'kill rest'; readonly id: number }

/** What a launcher process sends to the host. */
export type LauncherReport =
  | { readonly op: 'started'; readonly id: number; readonly pid: number }
  /** With the socket. `fd`: the number that the worker has it under. */
  | { readonly op: 'pipe'; readonly id: number; readonly fd: number }
  | { readonly op: 'exited'; readonly id: number; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly op: 'failed'; readonly id: number; readonly error: StartFailure }

/** Why a worker could not be started: an error, as JSON. */
export interface StartFailure {
  readonly message: string
  readonly code: string | undefined
  readonly cause: StartFailure | undefined
}
