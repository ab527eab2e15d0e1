import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Clock, systemClock } from '../../../hub/index.js'
import { FileRecord } from './acceptance-record.js'
import type { PoolMemory } from './file-memory.js'
import type { PipeSocket } from './late-stream.js'
import type { LauncherReport, LauncherRequest, SharedFiles, SharedPaths } from './launcher.js'
import { descriptorError, filePathOf, killQuietly, type SpawnOptions, startError } from './spawn-worker.js'

/** The files of a worker, and the paths by which its launcher process opens them. */
export interface FilesWithPaths extends SharedFiles {
  readonly paths: SharedPaths
}

/** A launcher process, for its host. */
export interface LauncherChild {
  /** Why it could not be started; undefined: it was. */
  readonly failure: Promise<unknown> | undefined
  send(request: LauncherRequest): void
  /** SIGKILL. */
  kill(): void
  /** It leaves. */
  closeLifeline(): void
}

/** What `launcherProcess` needs of the operating system. The simulation passes its own. */
export interface LauncherSystem {
  readonly clock: Pick<Clock, 'now' | 'setTimer' | 'clearTimer'>
  /** Throws what spawn() throws. A report `pipe` comes with its pipe; one that could not be received never comes. */
  spawn(onReport: (report: LauncherReport, pipe: PipeSocket | undefined) => void, onExit: (error: Error) => void): LauncherChild
  openFiles(): FilesWithPaths
  /** Undefined: `count` descriptors are free. */
  descriptorError(count: number): Error | undefined
  /** SIGKILL to a process, or with a negative number to a group. */
  kill(target: number): void
}

/** `program`: the file that the launcher runs. */
export const launcherSystem = (options: SpawnOptions, memory: PoolMemory, program: string): LauncherSystem => ({
  clock: systemClock,
  spawn: (onReport, onExit) => {
    // Options and certificates that the environment names are for the workers: they get it from `options`.
    const { NODE_OPTIONS: _, NODE_EXTRA_CA_CERTS: __, ...env } = process.env
    const child = spawn(process.execPath, [program], { detached: true, env, stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
    // Besides a start that fails: a signal that cannot be sent.
    child.on('error', () => {})
    child.unref()
    // Without a descriptor it has no pipe either.
    if (child.pid === undefined) return { failure: startError(child, undefined), send: () => {}, kill: () => {}, closeLifeline: () => {} }
    child
      .on('message', (report, socket) => onReport(report as LauncherReport, socket as Socket | undefined))
      .on('exit', (code, signal) => onExit(new Error(`The launcher process has ended (${signal ?? `exit code ${code}`}).`)))
    child.channel?.unref()
    // It lives as long as this pipe does.
    const lifeline = child.stdin as Socket
    lifeline.on('error', () => {}).unref()
    // An error means that it has ended, which `exit` tells.
    const send = (request: LauncherRequest): void => void child.send(request, () => {})
    send({ op: 'setup', ...options })
    return { failure: undefined, send, kill: () => void child.kill('SIGKILL'), closeLifeline: () => void lifeline.destroy() }
  },
  openFiles: () => {
    const record = FileRecord.open()
    const file = memory.open(record)
    return { record, memory: file, paths: { record: record && filePathOf(record), memory: file && filePathOf(file) } }
  },
  descriptorError,
  kill: killQuietly,
})
