import type { PipeSocket } from './late-stream.js'
import type { Launcher, LauncherReport, LauncherRequest, StartFailure } from './launcher.js'
import { LauncherWorker } from './launcher-worker.js'
import type { LauncherChild, LauncherSystem } from './spawn-launcher.js'
import type { SpawnOptions } from './spawn-worker.js'

/** ms in which a launcher process has to hand over a worker, or to end one, or has to report something else. One that does not is replaced. */
const ANSWER_TIMEOUT = 8_000
/** ms more, in which the host reads what may have come while its own event loop stood still. */
const READ_TIME = 250
/** ms in which it leaves. */
const CLOSE_TIMEOUT = 1_000
/** Pipes of a worker: jobs, results, lifeline and stderr. Its stdout may be one more. */
const PIPES = 4

/** How its workers are started. */
type LauncherSettings = Pick<SpawnOptions['config'], 'killTree' | 'output'>

/**
 * Starts workers from a launcher process, a small child of the host. A fork copies the tables of the memory of its process: a host of several gigabytes
 * would stand still for a tenth of a second at each start.
 */
export const launcherProcess = (settings: LauncherSettings, system: LauncherSystem): Launcher => {
  let current: LauncherProcess | undefined
  const launch = (id: number): LauncherWorker => {
    try {
      if (current === undefined || current.hasEnded) current = new LauncherProcess(settings, system)
      return current.start(id)
    } catch (error) {
      // spawn() throws, for example without memory. It counts as a start of the worker that failed.
      return neverStarted(error)
    }
  }
  return Object.assign(launch, { close: async () => current?.close() })
}

class LauncherProcess {
  readonly #system: LauncherSystem
  readonly #child: LauncherChild
  readonly #killTree: boolean
  readonly #captures: boolean
  readonly #workers = new Map<number, LauncherWorker>()
  #ended: boolean
  #reportedAt = Number.NEGATIVE_INFINITY
  #onEnd = (): void => {}

  constructor({ killTree, output }: LauncherSettings, system: LauncherSystem) {
    this.#system = system
    this.#killTree = killTree
    this.#captures = output === 'capture'
    this.#child = system.spawn(
      (report, pipe) => this.#receive(report, pipe),
      (error) => this.#end(error),
    )
    this.#ended = this.#child.failure !== undefined
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  start(id: number): LauncherWorker {
    if (this.#child.failure !== undefined) return neverStarted(this.#child.failure)
    const { record, memory, paths } = this.#system.openFiles()
    const lacking = this.#system.descriptorError(this.#pipesToCome())
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
      signal: (target) => this.#system.kill(target),
    })
    this.#workers.set(id, worker)
    this.#send({ op: 'start', id, ...paths })
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
    if (!this.#ended) this.#child.send(request)
  }

  /** Replaces the launcher process if it does not answer in time. Any report counts: pipes come one by one, with a turn of the host's event loop for each. */
  #expect(isAnswered: () => boolean, within = ANSWER_TIMEOUT): void {
    const { clock } = this.#system
    const isOver = (): boolean => isAnswered() || this.#ended
    const check = (): void => {
      if (isOver()) return
      const left = this.#reportedAt + ANSWER_TIMEOUT - clock.now()
      if (left > 0) this.#expect(isAnswered, left)
      else this.#child.kill()
    }
    clock.setTimer(() => {
      if (!isOver()) clock.setTimer(check, READ_TIME)
    }, within)
  }

  #receive(report: LauncherReport, pipe: PipeSocket | undefined): void {
    this.#reportedAt = this.#system.clock.now()
    const worker = this.#workers.get(report.id)
    if (worker === undefined) pipe?.destroy()
    else if (report.op === 'started') worker.started(report.pid)
    else if (report.op === 'pipe') worker.pipe(report.fd, pipe!)
    else if (report.op === 'exited') worker.exited({ exitCode: report.exitCode, signal: report.signal })
    else worker.failed(errorOf(report.error))
  }

  #end(error: Error): void {
    this.#ended = true
    for (const worker of this.#workers.values()) worker.launcherEnded(error)
    this.#workers.clear()
    this.#onEnd()
  }

  /** It leaves when its lifeline ends. To be called once. */
  async close(): Promise<void> {
    if (this.#ended) return
    const { clock } = this.#system
    const end = new Promise<void>((resolve) => {
      this.#onEnd = resolve
    })
    const timer = clock.setTimer(() => this.#child.kill(), CLOSE_TIMEOUT)
    this.#child.closeLifeline()
    await end
    clock.clearTimer(timer)
  }
}

const errorOf = ({ message, code, cause }: StartFailure): Error => {
  const error = new Error(message, cause === undefined ? undefined : { cause: errorOf(cause) })
  return code === undefined ? error : Object.assign(error, { code })
}

/** A worker that could not be started; `reason` may come later. */
const neverStarted = (reason: unknown): LauncherWorker => {
  const nothing = (): void => {}
  const worker = new LauncherWorker({
    record: undefined,
    memory: undefined,
    killTree: false,
    captures: false,
    kill: nothing,
    killRest: nothing,
    signal: nothing,
  })
  void Promise.resolve(reason).then((error) => worker.failed(error instanceof Error ? error : new Error(String(error))))
  return worker
}
