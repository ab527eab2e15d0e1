import { hostname } from 'node:os'
import type { Command } from '../runtime/report/commands.js'
import type { FarmEvent, FarmEventBody, NodeSnapshot, NodeStats } from '../runtime/report/report.js'
import { notify } from '../util/notify.js'
import { type CommandTarget, runCommand } from './command-handler.js'
import { Countdown } from './countdown.js'
import { idleWorkers, type NodeParts, nodeStats, upWorkers } from './node-stats.js'
import { grace as readGrace } from './options.js'
import { drain } from './shutdown.js'
import { longestDelivery, startWarnings } from './start-warnings.js'
import type { FarmNode, ShutdownReport } from './types.js'
import { packageVersion } from './version.js'

/** A pool under a broker: consumes, scales, reports, obeys, and leaves without losing anything. */
export class Node implements FarmNode, CommandTarget {
  readonly done: Promise<ShutdownReport>
  readonly parts: NodeParts
  readonly #listeners = new Set<(event: FarmEvent) => void>()
  readonly #startedAt = performance.now()
  #state: NodeStats['state'] = 'starting'
  #depth: number | undefined
  #asking = false
  #scaling: NodeJS.Timeout | undefined
  #beating: NodeJS.Timeout | undefined
  #countdown: Countdown | undefined
  #resolveDone: (report: ShutdownReport) => void = () => {}

  /** `makeParts` gets the sink of the node's events, and whether anybody listens. */
  constructor(makeParts: (report: (event: FarmEventBody) => void, heard: () => boolean) => NodeParts) {
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve
    })
    this.parts = makeParts(
      (event) => this.#emit(event),
      () => this.heard,
    )
  }

  get name(): string {
    return this.parts.settings.name
  }

  /** Begins to take jobs. Rejects when the broker refuses for a reason that does not pass. */
  async start(): Promise<void> {
    const { broker, pool, runtime, settings, intake, scale } = this.parts
    const { logger } = settings
    for (const warning of startWarnings(pool, runtime.tasks, settings)) logger?.warn({}, warning)
    await broker.start({ longestDelivery: longestDelivery(pool, settings) })
    broker.control.onCommand((command) => this.command(command))
    const { workers } = pool.stats()
    const { name } = this
    this.#emit({ type: 'node.up', pid: process.pid, host: hostname(), version: packageVersion(), queues: [...broker.queues], tasks: runtime.tasks })
    for (const { id, pid, state } of workers) if (state === 'up' && pid !== undefined) this.#emit({ type: 'worker.up', worker: id, pid })
    this.#listen()
    this.#state = 'running'
    intake.start(upWorkers(workers), scale.wanted, (delivery) => runtime.receive(delivery))
    this.#scaling = setInterval(() => void this.#scale(), settings.scaleCheckInterval)
    this.#beating = setInterval(() => this.#beat(), settings.heartbeatInterval)
    logger?.info({ node: name, queues: broker.queues, tasks: runtime.tasks }, 'node up')
  }

  #listen(): void {
    const { pool, settings, intake, scale } = this.parts
    pool.on('workerUp', ({ worker, pid }) => {
      this.#emit({ type: 'worker.up', worker, pid })
      intake.grown(upWorkers(pool.stats().workers), scale.wanted)
    })
    pool.on('workerExit', ({ worker, pid, reason, expected, jobs }) => this.#emit({ type: 'worker.exit', worker, pid, reason, expected, jobs }))
    pool.on('output', ({ worker, line }) => settings.logger?.info({ worker, stream: line.stream, at: line.time }, line.text))
  }

  // ---- every interval

  async #scale(): Promise<void> {
    // A broker that answers slowly is asked once at a time.
    if (this.#asking) return
    this.#asking = true
    const { broker, pool, intake, scale } = this.parts
    const depth = await broker.depth().catch(() => undefined)
    this.#asking = false
    if (this.#leaving) return
    this.#depth = depth ?? this.#depth
    const { workers } = pool.stats()
    // What is quiet or paused takes none of the backlog, so it needs nobody for it.
    if (this.#state === 'running') scale.round(depth, idleWorkers(workers))
    intake.round(upWorkers(workers), scale.wanted)
  }

  #beat(): void {
    if (!this.#leaving) this.#endStalled()
    this.#emit({ type: 'node.heartbeat', stats: this.stats() })
  }

  /** The watchdog lives, but the main thread has not turned for too long. */
  #endStalled(): void {
    const { pool, settings } = this.parts
    const { maxStall } = settings
    if (maxStall === undefined) return
    for (const { id, stalled, state } of pool.stats().workers) {
      if (stalled >= maxStall && state !== 'dead' && state !== 'starting')
        pool.end(id, `Its main thread has not turned for ${Math.round(stalled)} ms, longer than maxStall (${maxStall} ms).`)
    }
  }

  // ---- what it tells

  #emit(body: FarmEventBody): void {
    const { broker, settings } = this.parts
    // The body was made for this: three copies a job would be felt.
    const event = body as FarmEvent
    event.node = settings.name
    event.at = Date.now()
    broker.control.emit(event)
    for (const listener of this.#listeners) notify(listener, event)
  }

  /** Somebody may listen: what nobody would get need not be made. */
  get heard(): boolean {
    return this.#listeners.size > 0 || this.parts.broker.control.heard !== false
  }

  onEvent(listener: (event: FarmEvent) => void): () => void {
    if (typeof listener !== 'function') throw new TypeError('node.onEvent(listener): the listener must be a function.')
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): NodeStats {
    return nodeStats(this.parts, { state: this.#state, depth: this.#depth, startedAt: this.#startedAt })
  }

  snapshot(): NodeSnapshot {
    return { stats: this.stats(), tasks: this.parts.runtime.records() }
  }

  // ---- what it is told

  command(command: Command): Promise<unknown> {
    return runCommand(this, command)
  }

  async quiet(): Promise<void> {
    this.#state = 'quiet'
    await this.parts.intake.pause()
  }

  async pause(): Promise<void> {
    this.#state = 'paused'
    this.parts.runtime.pause()
    await this.parts.intake.pause()
  }

  async resume(): Promise<void> {
    this.#state = 'running'
    this.parts.runtime.resume()
    await this.parts.intake.resume()
  }

  /** Answers how many workers will be replaced, one after another. */
  restart(): number {
    const { pool, settings } = this.parts
    const workers = upWorkers(pool.stats().workers)
    pool.restart().then(
      () => settings.logger?.info({ workers }, 'rolling restart done'),
      (err: unknown) => settings.logger?.error({ err }, 'rolling restart failed'),
    )
    return workers
  }

  get #leaving(): boolean {
    return this.#countdown !== undefined
  }

  async shutdown({ grace, reason = 'shutdown()' }: { grace?: number; reason?: string } = {}): Promise<ShutdownReport> {
    const ms = grace === undefined ? this.parts.settings.shutdownGrace : readGrace('grace', grace)
    if (this.#countdown === undefined) {
      this.#countdown = new Countdown(ms)
      void this.#leave(this.#countdown, reason)
    } else this.#countdown.shorten(ms)
    return await this.done
  }

  async #leave(countdown: Countdown, reason: string): Promise<void> {
    const { broker, settings } = this.parts
    this.#state = 'draining'
    clearInterval(this.#scaling)
    settings.logger?.info({ reason, grace: Math.round(countdown.left) }, 'node shuts down')
    const report = await drain(this.parts, countdown)
    countdown.stop()
    this.#state = 'stopped'
    clearInterval(this.#beating)
    this.#emit({ type: 'node.down', reason })
    await broker.close().catch((err: unknown) => settings.logger?.warn({ err }, 'the broker could not be closed in order'))
    settings.logger?.info({ ...report }, 'node down')
    this.#resolveDone(report)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown()
  }
}
