/**
 * The program of a launcher process: it starts workers in the place of its host, hands over their pipes and reports how they end. It is small, so that a
 * start copies few pages. It ends with its host: then the workers do too, as their lifelines end.
 */
import type { ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { HAND_OVER_ORDER, type LauncherReport, type LauncherRequest, type SharedPaths, type StartFailure } from './launcher.js'
import { killQuietly, openFilePath, type SpawnOptions, spawnWorker, startError } from './spawn-worker.js'

/** What Node has no name for: stops reading from a socket that is to be handed over. What was read here would be lost. */
interface Handle {
  readStop(): void
}

let options: SpawnOptions | undefined
const workers = new Map<number, ChildProcess & { readonly pid: number }>()

const report = (message: LauncherReport, socket?: Socket): void => {
  process.send?.(message, socket, {}, (error) => {
    if (error !== null && !process.connected) process.exit()
  })
}

const startFailure = (error: unknown): StartFailure => {
  const { message, code, cause }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error))
  return { message, code, cause: cause === undefined ? undefined : startFailure(cause) }
}

const failed = (id: number, error: unknown): void => report({ op: 'failed', id, error: startFailure(error) })

const start = (id: number, paths: SharedPaths): void => {
  // A worker whose files cannot be opened does without.
  const record = openFilePath(paths.record)
  const memory = record === undefined ? undefined : openFilePath(paths.memory)
  try {
    const subprocess = spawnWorker(options!, id, { record, memory })
    if (subprocess.pid === undefined) {
      void startError(subprocess, options!.cwd).then((error) => failed(id, error))
      return
    }
    handOver(id, subprocess as ChildProcess & { readonly pid: number })
  } catch (error) {
    failed(id, error)
  } finally {
    for (const fd of [record, memory]) if (fd !== undefined) closeSync(fd)
  }
}

const handOver = (id: number, subprocess: ChildProcess & { readonly pid: number }): void => {
  workers.set(id, subprocess)
  // After the start, an error means that the process could not be killed.
  subprocess.on('error', () => {})
  subprocess.once('exit', (exitCode, signal) => report({ op: 'exited', id, exitCode, signal }))
  report({ op: 'started', id, pid: subprocess.pid })
  const sockets = subprocess.stdio as unknown as (Socket | null)[]
  // All before the event loop goes on: the worker may write at once.
  for (const socket of sockets) (socket as unknown as { readonly _handle: Handle } | null)?._handle.readStop()
  for (const fd of HAND_OVER_ORDER) {
    const socket = sockets[fd]
    if (socket !== null && socket !== undefined) report({ op: 'pipe', id, fd }, socket)
  }
}

const target = ({ pid }: { readonly pid: number }): number => (options!.config.killTree ? -pid : pid)

const handle = (request: LauncherRequest): void => {
  if (request.op === 'setup') {
    options = request
    return
  }
  const { id } = request
  if (request.op === 'start') {
    start(id, request)
    return
  }
  const worker = workers.get(id)
  if (worker === undefined) return
  if (request.op === 'kill') {
    // Once it has ended, its number may be that of another process.
    if (worker.exitCode === null && worker.signalCode === null) killQuietly(target(worker))
  } else {
    workers.delete(id)
    if (options!.config.killTree) killQuietly(-worker.pid)
  }
}

process.title = 'prefork launcher'
// As a worker does: only the host ends it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
process.on('message', (request) => handle(request as LauncherRequest))
// The end of the host. Not `disconnect`: Node has been seen not to emit it while sockets wait to be handed over.
new Socket({ fd: 0 })
  .on('error', () => process.exit())
  .on('close', () => process.exit())
  .resume()
