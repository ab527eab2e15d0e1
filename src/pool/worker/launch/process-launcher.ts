import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS } from '../../../wire/messages.js'
import { FileRecord } from './acceptance-record.js'
import type { PoolMemory } from './file-memory.js'
import type { LaunchedProcess, Launcher, SharedFiles } from './launcher.js'
import { killQuietly, type SharedDescriptors, type SpawnOptions, spawnWorker, startError } from './spawn-worker.js'

/** Starts workers as child processes of the host. */
export const processLauncher = (options: SpawnOptions, memory: PoolMemory): Launcher => {
  const { killTree } = options.config
  const launch = (id: number, files: SharedFiles, descriptors: SharedDescriptors): LaunchedProcess => {
    const subprocess = spawnWorker(options, id, descriptors)
    const pid = subprocess.pid
    if (pid === undefined) return neverStarted(startError(subprocess, options.cwd), files)
    // After the start, an error means that the process could not be killed.
    subprocess.on('error', () => {})
    const streams = subprocess.stdio as unknown as (Socket | null)[]
    subprocess.unref()
    for (const stream of streams) stream?.unref?.()
    return {
      pid,
      jobs: streams[FD_JOBS]!,
      results: streams[FD_RESULTS]!,
      lifeline: streams[FD_LIFELINE]!,
      stdout: streams[1] ?? undefined,
      stderr: streams[2] ?? undefined,
      ...files,
      onExit: (fn) => void subprocess.once('exit', (exitCode, signal) => fn({ exitCode, signal })),
      kill: () => killQuietly(killTree ? -pid : pid),
      killRest: () => {
        if (killTree) killQuietly(-pid)
      },
    }
  }
  // An error that spawn() throws counts as a failed start.
  return (id) => {
    const record = FileRecord.open()
    const files = { record, memory: memory.open(record) }
    try {
      return launch(id, files, { record: record?.fd, memory: files.memory?.fd })
    } catch (error) {
      return neverStarted(Promise.resolve(error), files)
    }
  }
}

/** A process that could not be made: its streams are empty, and its exit has the error. */
const neverStarted = (reason: Promise<unknown>, files: SharedFiles): LaunchedProcess => {
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
    ...files,
    onExit: (fn) => {
      void reason.then((error) =>
        fn({ exitCode: null, signal: null, error: error instanceof Error ? error : new Error('The worker process could not be started.') }),
      )
    },
    kill: () => {},
    killRest: () => {},
  }
}
