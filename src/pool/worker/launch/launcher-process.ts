import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { clearTimeout, setTimeout } from '../../../util/node-time.js'
import { FileRecord } from './acceptance-record.js'
import type { PoolMemory } from './file-memory.js'
import { descriptorError } from './free-descriptors.js'
import type { Launcher, LauncherReport, LauncherRequest } from './launcher.js'
import { LauncherWorker } from './launcher-worker.js'
import { type SpawnOptions, startError } from './spawn-worker.js'

/** ms in which a launcher process has to hand over a worker, or to end one. One that does not is replaced. */
const ANSWER_TIMEOUT = 8_000
/** ms more, in which the host reads what may have come while its own event loop stood still. */
const READ_TIME = 250
/** ms in which it leaves. */
const CLOSE_TIMEOUT = 1_000
/** Pipes of a worker: jobs, results, lifeline and stderr. Its stdout may be one more. */
const PIPES = 4

/**
 * Starts workers from a launcher process, a small child of the host. A fork copies the tables of the memory of its process: a host of several gigabytes
 * would stand still for a tenth of a second at each start. `program`: the file that the launcher runs.
 */
export const launcherProcess = (options: SpawnOptions, memory: PoolMemory, program: string): Launcher => {
  let current: LauncherProcess | undefined
  const launch = (id: number): LauncherWorker => {
    try {
      if (current === undefined || current.hasEnded) current = new LauncherProcess(options, memory, program)
      return current.start(id)
    } catch (error) {
      // spawn() throws, for example without memory. It counts as a start of the worker that failed.
      return neverStarted(error)
    }
  }
  return Object.assign(launch, { close: async () => current?.close() })
}

/** By which another process opens a file without a name. */
const pathOf = (file: { readonly fd: number } | undefined): string | undefined => (file === undefined ? undefined : `/proc/${process.pid}/fd/${file.fd}`)

class LauncherProcess {
  readonly #process: ChildProcess
  readonly #killTree: boolean
  readonly #captures: boolean
  readonly #memory: PoolMemory
  readonly #workers = new Map<number, LauncherWorker>()
  #ended: Error | undefined

  constructor(options: SpawnOptions, memory: PoolMemory, program: string) {
    this.#killTree = options.config.killTree
    this.#memory = memory
    this.#captures = options.config.output === 'capture'
    // Options and certificates that the environment names are for the workers: they get it from `options`.
    const { NODE_OPTIONS: _, NODE_EXTRA_CA_CERTS: __, ...env } = process.env
    this.#process = spawn(process.execPath, [program], { detached: true, env, stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
    this.#process
      .on('message', (report, socket) => this.#receive(report as LauncherReport, socket as Socket | undefined))
      .on('exit', (code, signal) => this.#end(new Error(`The launcher process has ended (${signal ?? `exit code ${code}`}).`)))
      // Besides a start that fails: a signal that cannot be sent.
      .on('error', (error) => this.#process.pid === undefined && this.#end(error))
    this.#process.unref()
    if (this.#process.pid === undefined) {
      // Without a descriptor it has no pipe either.
      this.#ended = new Error('The launcher process could not be started.')
      return
    }
    this.#process.channel?.unref()
    // It lives as long as this pipe does.
    const lifeline = this.#process.stdin as Socket
    lifeline.on('error', () => {}).unref()
    this.#send({ op: 'setup', ...options })
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  start(id: number): LauncherWorker {
    if (this.#process.pid === undefined) return neverStarted(startError(this.#process, undefined))
    const record = FileRecord.open()
    const memory = this.#memory.open(record)
    const lacking = descriptorError(this.#pipesToCome())
    if (lacking !== undefined) {
      record?.close()
      memory?.close()
      return neverStarted(lacking)
    }
    const worker = new LauncherWorker({
      record,
      memory,
      killTree: this.#killTree,
      captures: this.#captures,
      kill: () => this.#kill(id, worker),
      killRest: () => {
        this.#workers.delete(id)
        this.#send({ op: 'kill rest', id })
      },
    })
    if (this.#ended !== undefined) {
      worker.launcherEnded(this.#ended)
      return worker
    }
    this.#workers.set(id, worker)
    this.#send({ op: 'start', id, record: pathOf(record), memory: pathOf(memory) })
    this.#expect(() => worker.isHandedOver || worker.hasExited)
    return worker
  }

  /** Of one more worker, and of those that are still to be handed over. */
  #pipesToCome(): number {
    let workers = 1
    for (const worker of this.#workers.values()) if (!worker.isHandedOver && !worker.hasExited) workers += 1
    return workers * (this.#captures ? PIPES + 1 : PIPES)
  }

  #kill(id: number, worker: LauncherWorker): void {
    this.#send({ op: 'kill', id })
    this.#expect(() => worker.hasExited)
  }

  #send(request: LauncherRequest): void {
    if (this.hasEnded) return
    // An error means that it has ended, which `exit` tells.
    this.#process.send(request, () => {})
  }

  /** Replaces the launcher process if it does not answer in time. */
  #expect(isAnswered: () => boolean): void {
    const check = (): void => {
      if (!isAnswered() && !this.hasEnded) this.#process.kill('SIGKILL')
    }
    setTimeout(() => {
      if (!isAnswered()) setTimeout(check, READ_TIME).unref()
    }, ANSWER_TIMEOUT).unref()
  }

  #receive(report: LauncherReport, socket: Socket | undefined): void {
    const worker = this.#workers.get(report.id)
    if (worker === undefined) socket?.destroy()
    else if (report.op === 'started') worker.started(report.pid)
    else if (report.op === 'pipe') worker.pipe(report.fd, socket)
    else if (report.op === 'exited') worker.exited({ exitCode: report.exitCode, signal: report.signal })
    else {
      const error = Object.assign(new Error(report.message), report.code === undefined ? {} : { code: report.code })
      worker.failed(error)
    }
  }

  #end(error: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = error
    for (const worker of this.#workers.values()) worker.launcherEnded(error)
    this.#workers.clear()
  }

  /** It leaves when its lifeline ends. */
  async close(): Promise<void> {
    if (this.hasEnded) return
    const exit = once(this.#process, 'exit')
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), CLOSE_TIMEOUT)
    this.#process.stdin!.destroy()
    await exit
    clearTimeout(timer)
  }
}

/** A worker that could not be started; `reason` may come later. */
const neverStarted = (reason: unknown): LauncherWorker => {
  const worker = new LauncherWorker({ record: undefined, memory: undefined, killTree: false, captures: false, kill: () => {}, killRest: () => {} })
  void Promise.resolve(reason).then((error) => worker.failed(error instanceof Error ? error : new Error(String(error))))
  return worker
}
