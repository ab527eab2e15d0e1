import { microtask } from '../../../util/node-time.js'
import { FD_JOBS, FD_LIFELINE, FD_RESULTS } from '../../../wire/messages.js'
import { LateStream, type PipeSocket } from './late-stream.js'
import type { AcceptanceRecord, LaunchedProcess, ProcessExit, SharedMemory } from './launcher.js'

export interface LauncherWorkerSettings {
  readonly record: AcceptanceRecord | undefined
  readonly memory: SharedMemory | undefined
  readonly killTree: boolean
  /** stdout is a pipe. */
  readonly captures: boolean
  /** Ask the launcher process. */
  kill(): void
  killRest(): void
  /** SIGKILL to a process, or with a negative number to a group. */
  signal(target: number): void
}

/** A worker that a launcher process has started, or is about to. */
export class LauncherWorker implements LaunchedProcess {
  readonly jobs = new LateStream()
  readonly results = new LateStream()
  readonly lifeline = new LateStream()
  readonly stdout: LateStream | undefined
  readonly stderr = new LateStream()
  readonly record: AcceptanceRecord | undefined
  readonly memory: SharedMemory | undefined
  readonly #settings: LauncherWorkerSettings
  #pid: number | undefined
  #exit: ProcessExit | undefined
  #onExit: ((exit: ProcessExit) => void) | undefined
  #killWanted = false
  /** The launcher process has ended before the worker. */
  #isOrphan = false
  #lifelineSocket: PipeSocket | undefined

  constructor(settings: LauncherWorkerSettings) {
    this.#settings = settings
    this.record = settings.record
    this.memory = settings.memory
    this.stdout = settings.captures ? new LateStream() : undefined
  }

  get pid(): number | undefined {
    return this.#pid
  }

  get hasExited(): boolean {
    return this.#exit !== undefined
  }

  /** All its pipes have come: its results are the last. */
  get isHandedOver(): boolean {
    return this.results.isAttached
  }

  started(pid: number): void {
    this.#pid = pid
  }

  pipe(fd: number, socket: PipeSocket): void {
    socket.unref()
    const stream = { 1: this.stdout, 2: this.stderr, [FD_JOBS]: this.jobs, [FD_RESULTS]: this.results, [FD_LIFELINE]: this.lifeline }[fd]
    // Its results come last. Where the host had no descriptor left, Node drops a pipe and reports nothing.
    if (stream === this.results && !this.#hasOtherPipes()) this.kill()
    // One that is to be killed does not come up: it would take jobs.
    if (stream === undefined || this.#killWanted) socket.destroy()
    else stream.attach(socket)
    if (fd === FD_LIFELINE) this.#lifelineSocket = socket
  }

  #hasOtherPipes(): boolean {
    return [this.stdout, this.stderr, this.jobs, this.lifeline].every((stream) => stream === undefined || stream.isAttached)
  }

  exited(exit: ProcessExit): void {
    if (this.#exit !== undefined) return
    this.#exit = exit
    this.#notify()
    // Those that have not come. After the exit: until then the end of a pipe is a fault.
    for (const stream of [this.jobs, this.results, this.lifeline, this.stdout, this.stderr]) stream?.end()
  }

  /** It could not be started. */
  failed(error: Error): void {
    this.exited({ exitCode: null, signal: null, error })
  }

  /** From now on its end is seen by that of its lifeline, which lives as long as it does. */
  launcherEnded(error: Error): void {
    if (this.#exit !== undefined) return
    const lifeline = this.#lifelineSocket
    if (lifeline === undefined || !this.isHandedOver) {
      // The pipes that have not come are gone with the launcher process, and the others are closed now: it leaves by itself, but not while it is stopped.
      this.#killGroup()
      this.failed(error)
      return
    }
    this.#isOrphan = true
    const ended = (): void => {
      // The process may live: a task has closed this pipe, or the host has.
      this.#killGroup()
      this.exited({ exitCode: null, signal: null })
    }
    if (lifeline.destroyed) ended()
    else lifeline.on('close', ended)
    if (this.#killWanted) this.kill()
  }

  onExit(fn: (exit: ProcessExit) => void): void {
    this.#onExit = fn
    if (this.#exit !== undefined) microtask(() => this.#notify())
  }

  #notify(): void {
    const notify = this.#onExit
    this.#onExit = undefined
    notify?.(this.#exit!)
  }

  kill(): void {
    if (this.#exit !== undefined) return
    this.#killWanted = true
    if (this.#isOrphan) this.#killGroup()
    else this.#settings.kill()
  }

  killRest(): void {
    if (!this.#isOrphan) this.#settings.killRest()
    else if (this.#settings.killTree) this.#killGroup()
  }

  #killGroup(): void {
    if (this.#pid !== undefined) this.#settings.signal(this.#settings.killTree ? -this.#pid : this.#pid)
  }
}
