import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import { type Command, readRevocations } from '../runtime/report/commands.js'
import type { FarmEvent, FarmEventBody, NodeSnapshot, NodeStats } from '../runtime/report/report.js'
import { clearInterval, setInterval } from '../util/node-time.js'
import { notify } from '../util/notify.js'
import { deferred } from '../util/with-timeout.js'
import { type CommandTarget, runCommand } from './command-handler.js'
import { type NodeParts, nodeStats, packageVersion, residentMemory, upWorkers } from './node-stats.js'
import { Scaling } from './scaling/scaling.js'
import { drain, readShutdownOptions, ShutdownDeadline } from './shutdown.js'
import { longestDelivery, startWarnings } from './start-warnings.js'
import type { FarmNode, ShutdownOptions, ShutdownReport } from './types.js'

/** ms that a starting node waits for the revocations of others. What comes later counts from then on. */
const REVOCATIONS_TIMEOUT = 500

/** The supervisor of a pool under a broker: consumes jobs, scales the pool, reports events, executes commands, and shuts down without losing a job. */
export class Node implements FarmNode, CommandTarget {
  readonly parts: NodeParts
  readonly scaling: Scaling
  readonly #listeners = new Set<(event: FarmEvent) => void>()
  readonly #startedAt = performance.now()
  #state: NodeStats['state'] = 'starting'
  #heartbeatTimer: NodeJS.Timeout | undefined
  /** Why it cannot go on. */
  #error: Error | undefined
  #deadline: ShutdownDeadline | undefined
  readonly #done = deferred<ShutdownReport>()

  /** `makeParts` gets the function that emits an event of the node, and whether the events have a listener. */
  constructor(makeParts: (report: (event: FarmEventBody) => void, hasListeners: () => boolean) => NodeParts) {
    this.parts = makeParts(
      (event) => this.#emit(event),
      () => this.hasListeners,
    )
    // A quiet or paused node takes no jobs, nor does one that runs a job alone.
    this.scaling = new Scaling(this.parts, () => this.#state === 'running' && this.parts.prefetch.intake === 'all')
  }

  get name(): string {
    return this.parts.settings.name
  }

  get done(): Promise<ShutdownReport> {
    return this.#done.promise
  }

  /** Begins to take jobs. Rejects with what `broker.start` rejects with. */
  async start(): Promise<void> {
    const { broker, pool, runtime, settings, prefetch, scale } = this.parts
    const { logger } = settings
    for (const warning of startWarnings(pool, runtime.tasks, settings)) logger?.warn({}, warning)
    await broker.start({ longestDelivery: longestDelivery(pool, settings), memory: () => residentMemory(pool), state: () => this.#state })
    broker.control.onCommand((command) => this.command(command))
    await this.#askRevocations()
    // By a command, meanwhile.
    if (this.#shuttingDown) return
    const { workers } = pool.stats()
    const { name } = this
    this.#emit({ type: 'node.up', pid: process.pid, host: hostname(), version: packageVersion(), queues: [...broker.queues], tasks: runtime.tasks })
    for (const { id, pid, state } of workers) if (state === 'up' && pid !== undefined) this.#emit({ type: 'worker.up', worker: id, pid })
    this.#listen()
    if (this.#state === 'starting') this.#state = 'running'
    prefetch.start(
      upWorkers(workers),
      scale.wanted,
      (delivery) => runtime.receive(delivery),
      (queue) => runtime.giveBack(queue),
    )
    this.scaling.start()
    this.#heartbeatTimer = setInterval(() => this.#heartbeat(), settings.heartbeatInterval)
    logger?.info({ node: name, queues: broker.queues, tasks: runtime.tasks }, 'node up')
  }

  /** A node remembers the revocations of its own life: those from before are with the others. They are to be here before the first job is. */
  async #askRevocations(): Promise<void> {
    const { broker, runtime, settings } = this.parts
    const receive = (answer: unknown): void => {
      try {
        runtime.addRevocations(readRevocations(answer))
      } catch (err) {
        settings.logger?.warn({ err }, "another node's revocations cannot be read")
      }
    }
    await broker.control.askNodes?.({ command: 'revocations', node: settings.name }, receive, REVOCATIONS_TIMEOUT)
  }

  #listen(): void {
    const { pool, settings, prefetch, scale } = this.parts
    pool.on('workerUp', ({ worker, pid }) => {
      this.#emit({ type: 'worker.up', worker, pid })
      prefetch.workersChanged(upWorkers(pool.stats().workers), scale.wanted)
    })
    pool.on('workerExit', ({ worker, pid, reason, expected, jobs }) => this.#emit({ type: 'worker.exit', worker, pid, reason, expected, jobs }))
    pool.on('output', ({ worker, line }) => settings.logger?.info({ worker, stream: line.stream, at: line.time }, line.text))
  }

  #heartbeat(): void {
    if (!this.#shuttingDown) this.#endStalled()
    this.#emit({ type: 'node.heartbeat', stats: this.stats() })
  }

  /** The watchdog thread answers, but the main thread's event loop has been blocked for longer than `maxStall`. */
  #endStalled(): void {
    const { pool, settings } = this.parts
    const { maxStall } = settings
    if (maxStall === undefined) return
    for (const { id, stalled, state } of pool.stats().workers) {
      if (stalled >= maxStall && state !== 'dead' && state !== 'starting')
        pool.end(id, `Its main thread has not turned for ${Math.round(stalled)} ms, longer than maxStall (${maxStall} ms).`)
    }
  }

  #emit(body: FarmEventBody): void {
    const { broker, settings } = this.parts
    // Mutated in place: a copy of each event would be three copies for each job.
    const event = body as FarmEvent
    event.node = settings.name
    event.at = Date.now()
    broker.control.emit(event)
    for (const listener of this.#listeners) notify(listener, event)
  }

  /** False: nothing receives events, as far as is known, and they need not be made. */
  get hasListeners(): boolean {
    return this.#listeners.size > 0 || this.parts.broker.control.heard !== false
  }

  onEvent(listener: (event: FarmEvent) => void): () => void {
    if (typeof listener !== 'function') throw new TypeError('node.onEvent(listener): the listener must be a function.')
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): NodeStats {
    return nodeStats(this.parts, { state: this.#state, depth: this.scaling.depth, startedAt: this.#startedAt })
  }

  snapshot({ id }: { id?: string | undefined } = {}): NodeSnapshot {
    return { stats: this.stats(), tasks: this.parts.runtime.records(id) }
  }

  command(command: Command): Promise<unknown> {
    return runCommand(this, command)
  }

  async quiet(): Promise<void> {
    this.#state = 'quiet'
    await this.parts.prefetch.pause()
  }

  async pause(): Promise<void> {
    this.#state = 'paused'
    const { broker, prefetch, runtime } = this.parts
    // Before the jobs are given back: the end of an isolation would take more.
    const paused = prefetch.pause()
    if (broker.canRequeue !== false) runtime.pause()
    await paused
  }

  async resume(): Promise<void> {
    this.#state = 'running'
    this.parts.runtime.resume()
    await this.parts.prefetch.resume()
  }

  /** Replaces the workers one after another. Returns how many. */
  restart(): number {
    const { pool, settings } = this.parts
    const workers = upWorkers(pool.stats().workers)
    pool.restart().then(
      () => settings.logger?.info({ workers }, 'rolling restart done'),
      (err: unknown) => settings.logger?.error({ err }, 'rolling restart failed'),
    )
    return workers
  }

  get #shuttingDown(): boolean {
    return this.#deadline !== undefined
  }

  async shutdown(options?: ShutdownOptions): Promise<ShutdownReport> {
    const { grace: ms = this.parts.settings.shutdownGrace, reason, error } = readShutdownOptions(options)
    this.#error ??= error
    if (this.#deadline === undefined) {
      this.#deadline = new ShutdownDeadline(ms)
      void this.#runShutdown(this.#deadline, reason)
    } else this.#deadline.shorten(ms)
    return await this.done
  }

  async #runShutdown(deadline: ShutdownDeadline, reason: string): Promise<void> {
    const { broker, settings } = this.parts
    this.#state = 'draining'
    this.scaling.stop()
    settings.logger?.info({ reason, grace: Math.round(deadline.left) }, 'node shuts down')
    const { report: ended, closeWithin } = await drain(this.parts, deadline)
    const report = this.#error === undefined ? ended : { ...ended, clean: false, error: this.#error }
    deadline.stop()
    this.#state = 'stopped'
    clearInterval(this.#heartbeatTimer)
    this.#emit({ type: 'node.down', reason })
    await broker.close(closeWithin).catch((err: unknown) => settings.logger?.warn({ err }, 'the broker could not be closed in order'))
    settings.logger?.info({ ...ended, clean: report.clean }, 'node down')
    this.#done.resolve(report)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown()
  }
}
