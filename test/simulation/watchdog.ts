import { decode } from '../../src/wire/codec/index.js'
import { FIXED_BYTES, FRAME_HEAD, HEARTBEAT_BYTES, LENGTH_BYTES } from '../../src/wire/frame.js'
import { frameReader } from '../../src/wire/frame-reader.js'
import { Kind, LimitStage } from '../../src/wire/messages.js'
import { MAX_DELIVERY } from '../../src/worker/claim.js'
import type { SimLink } from './link.js'
import { MAX_TRANSIT_MS, type Pipe } from './pipe.js'
import type { ProcessSettings, SimProcess, SimulationContext } from './process.js'
import type { ScheduledEvent } from './world.js'

/** How long the main thread may take to answer a ping, ms. */
const PING_TIMEOUT = 20
/** A job with a soft limit alone that does not stop is ended after this many `cancelGrace`. */
const SOFT_TO_HARD = 5
const MAX_LIFELINE_FRAME = 1024 * 1024

interface LimitedJob {
  soft: number
  hard: number
  began: number
  blockedBefore: number
  timers: ScheduledEvent[]
}

/**
 * A model of the watchdog thread: the lifeline, the claim word, limits and heartbeats. It freezes with its process, and its replies may
 * be late. With `watchdog: false` it models the same work on the main thread, in turns of its event loop.
 */
export class Watchdog {
  lastFrameAt: number
  /** The longest recent gap before one of its frames, ms. */
  recentGap = 0
  #gapEndedAt = 0
  /** The claim word is closed: no job begins in this worker any more. */
  claimsClosed = false
  /** Deliveries whose CANCEL it has read. */
  readonly cancelRequests = new Set<number>()
  /** Deliveries whose task it has terminated. */
  readonly interrupted = new Set<number>()
  readonly #process: SimProcess
  readonly #context: SimulationContext
  readonly #settings: ProcessSettings
  readonly #fromHost: Pipe
  readonly #toHost: Pipe
  readonly #link: SimLink
  readonly #reader: Generator<boolean | undefined, never, Buffer>
  readonly #running = new Map<number, LimitedJob>()
  /** Frames that do not fit into the pipe to the host yet. */
  #unsent: Buffer[] = []
  #started = false
  /** Actions that were due while the process was frozen. */
  #deferred: (() => void)[] = []
  /** When the last frames of the lifeline are handled, ms: later ones come after them. */
  #handledAt = 0

  constructor(process: SimProcess, context: SimulationContext, settings: ProcessSettings, pipes: { down: Pipe; up: Pipe }, link: SimLink) {
    this.#process = process
    this.#context = context
    this.#settings = settings
    this.#fromHost = pipes.down
    this.#toHost = pipes.up
    this.#link = link
    this.lastFrameAt = context.world.now
    this.#reader = frameReader((bytes, start, end) => this.#handleFrame(Buffer.from(bytes.subarray(start, end))), MAX_LIFELINE_FRAME)
    this.#reader.next()
    pipes.down.onReadable = () => this.#scheduleRead()
    pipes.up.onWritable = () => this.#flush()
  }

  /** The lifeline holds frames that it has not read. */
  get hasUnread(): boolean {
    return this.#fromHost.size > 0
  }

  start(): void {
    this.#started = true
    this.#heartbeat()
    this.#scheduleRead()
  }

  stop(): void {
    for (const { timers } of this.#running.values()) for (const timer of timers) timer.cancelled = true
    this.#fromHost.closeReader()
    this.#toHost.closeWriter()
  }

  resume(): void {
    for (const fn of this.#deferred.splice(0)) fn()
  }

  // ---- from the main thread

  began(delivery: number, soft: number, hard: number): void {
    const limited: LimitedJob = { soft, hard, began: this.#context.world.now, blockedBefore: this.#process.main.writeBlockedTotal, timers: [] }
    this.#running.set(delivery, limited)
    if (!this.#settings.watchdog) return
    if (soft > 0) this.#setLimit(delivery, limited, soft, () => this.#softLimit(delivery))
    const deadline = hard > 0 ? hard : soft > 0 ? soft + SOFT_TO_HARD * this.#settings.cancelGrace : 0
    if (deadline > 0) this.#setLimit(delivery, limited, deadline, () => this.#reportExpired(LimitStage.HARD, delivery))
  }

  ended(delivery: number): void {
    for (const timer of this.#running.get(delivery)?.timers ?? []) timer.cancelled = true
    this.#running.delete(delivery)
  }

  // ---- limits

  /** Time in which a write waits for the host to read does not count. */
  #setLimit(delivery: number, limited: LimitedJob, ms: number, fn: () => void): void {
    const { world } = this.#context
    const due = limited.began + ms + this.#process.main.writeBlockedTotal - limited.blockedBefore
    limited.timers.push(
      world.schedule(Math.max(0, due - world.now) + (due <= world.now ? 1 : 0), () =>
        this.#deferWhileFrozen(() => {
          if (!this.#running.has(delivery)) return
          if (this.#process.main.isWriteBlocked || limited.began + ms + this.#process.main.writeBlockedTotal - limited.blockedBefore > world.now)
            this.#setLimit(delivery, limited, ms, fn)
          else fn()
        }),
      ),
    )
  }

  #softLimit(delivery: number): void {
    this.#send(Kind.LIMIT, LimitStage.SOFT, delivery, 0)
    this.#stopJob(delivery, 'soft', this.#settings.cancelGrace, () => this.#process.loop.onSoftLimit(delivery, this.#running.get(delivery)?.soft ?? 0))
  }

  /**
   * Stops a job: requests it on the main thread, then interrupts the call where that is safe. A job that has not stopped after
   * `grace` ms is reported to the host, which kills the worker.
   */
  #stopJob(delivery: number, cause: 'soft' | 'cancel', grace: number, requestStop: () => void): void {
    const { world } = this.#context
    const { main, loop } = this.#process
    let handled = false
    main.post(() => {
      handled = true
      requestStop()
    })
    const interrupt = (): void => {
      if (handled || main.hung?.delivery !== delivery || !main.hung.safe) return
      main.interrupted(() => {
        handled = true
        this.interrupted.add(delivery)
        // The task is terminated before it records its own end.
        const job = [...this.#context.history.jobs.values()].find(({ running }) => running?.worker === this.#process.id && running.delivery === delivery)
        if (job?.running !== undefined) this.#context.history.end(job.running)
        loop.onInterrupted(delivery, cause, 'at hang (tasks.js:1:1)')
      })
    }
    for (const share of [0.01, 0.1, 0.5]) world.schedule(share * grace, () => this.#deferWhileFrozen(interrupt))
    const giveUp = (): void => {
      if (handled || !this.#running.has(delivery)) return
      if (main.isWriteBlocked) world.schedule(50, () => this.#deferWhileFrozen(giveUp))
      else this.#reportExpired(LimitStage.STUCK, delivery)
    }
    world.schedule(grace, () => this.#deferWhileFrozen(giveUp))
  }

  #reportExpired(stage: LimitStage, delivery: number): void {
    const lastClaimed = this.#link.recaller.recall(MAX_DELIVERY)
    this.claimsClosed = true
    const { world } = this.#context
    // A real watchdog first takes a stack trace of the task.
    world.schedule(world.random.next() * 100, () =>
      this.#deferWhileFrozen(() => this.#send(Kind.LIMIT, stage, delivery, lastClaimed, Buffer.from('at task (tasks.js:1:1)'))),
    )
  }

  // ---- the lifeline

  #scheduleRead(): void {
    if (!this.#started || this.#fromHost.size === 0) {
      // Also before its HELLO.
      if (this.#fromHost.writerClosed) this.#onHostClosed()
      return
    }
    const { world, watchdogReplies } = this.#context
    const handledAt = Math.max(this.#handledAt, world.now + world.random.next() * watchdogReplies.latency)
    this.#handledAt = handledAt
    world.schedule(handledAt - world.now, () => this.#deferWhileFrozen(() => this.#read()))
  }

  #read(): void {
    const { random } = this.#context.world
    while (this.#fromHost.size > 0) this.#reader.next(this.#fromHost.take(random.between(1, this.#fromHost.size)))
    if (this.#fromHost.writerClosed) this.#onHostClosed()
  }

  #onHostClosed(): void {
    this.#context.world.schedule(1, () => this.#deferWhileFrozen(() => this.#process.die({ exitCode: null, signal: 'SIGKILL' })))
  }

  #handleFrame(body: Buffer): void {
    const delivery = body.readUInt32LE(4)
    switch (body[0]) {
      case Kind.RECALL:
        this.#onLifeline(() => this.#recall(delivery))
        return
      case Kind.CANCEL:
        this.cancelRequests.add(delivery)
        this.#onLifeline(() => {
          const reason = decode(body.subarray(FIXED_BYTES), 8)
          const interruptFor = body.readUInt32LE(FIXED_BYTES + 4)
          const lastClaimed = this.#recall(body.readUInt32LE(FIXED_BYTES))
          if (delivery > lastClaimed) return
          const requestStop = (): void => this.#process.loop.onCancel(delivery, reason, interruptFor === 0)
          if (!this.#settings.watchdog) requestStop()
          else if (interruptFor > 0) this.#stopJob(delivery, 'cancel', interruptFor, requestStop)
          else this.#process.main.post(requestStop)
        })
        return
      case Kind.SOFT_LIMIT_REQUEST:
        this.#process.main.post(() => this.#process.loop.onSoftLimit(delivery, body.readUInt32LE(FIXED_BYTES)))
        return
      default:
    }
  }

  /** With `watchdog: false` the main thread handles the frame, in a turn of its event loop. */
  #onLifeline(fn: () => void): void {
    if (this.#settings.watchdog) fn()
    else this.#process.main.post(fn)
  }

  #recall(upTo: number): number {
    const lastClaimed = this.#link.recaller.recall(upTo)
    this.#send(Kind.RECALLED, 0, lastClaimed, upTo)
    return lastClaimed
  }

  #heartbeat(): void {
    const { world } = this.#context
    const { main } = this.#process
    const next = (): void => void world.schedule(this.#settings.heartbeatInterval, () => this.#deferWhileFrozen(() => this.#heartbeat()))
    const sendHeartbeat = (age: number): void => {
      const payload = Buffer.alloc(HEARTBEAT_BYTES)
      payload.writeDoubleLE(this.#process.rss, 0)
      payload.writeDoubleLE(age, 8)
      this.#send(Kind.HEARTBEAT, 0, 0, 0, payload)
    }
    if (!this.#settings.watchdog) {
      main.post(() => {
        sendHeartbeat(0)
        next()
      })
      return
    }
    if (main.canTurn) sendHeartbeat(0)
    else world.schedule(PING_TIMEOUT, () => this.#deferWhileFrozen(() => sendHeartbeat(main.canTurn ? 0 : world.now - main.turnedAt)))
    next()
  }

  #send(kind: Kind, flags: number, delivery: number, job: number, payload: Uint8Array = new Uint8Array(0)): void {
    const frame = Buffer.alloc(FRAME_HEAD + payload.length)
    frame.writeUInt32LE(FIXED_BYTES + payload.length, 0)
    frame[LENGTH_BYTES] = kind
    frame[LENGTH_BYTES + 1] = flags
    frame.writeUInt32LE(delivery, LENGTH_BYTES + 4)
    frame.writeDoubleLE(job, LENGTH_BYTES + 8)
    frame.set(payload, FRAME_HEAD)
    this.#unsent.push(frame)
    this.#flush()
  }

  #flush(): void {
    while (this.#unsent.length > 0) {
      const first = this.#unsent[0]!
      const written = this.#toHost.put(first)
      if (written < first.length) {
        this.#unsent[0] = first.subarray(written)
        return
      }
      this.#unsent.shift()
      const { now } = this.#context.world
      const gap = now - this.lastFrameAt
      // After a freeze all deferred frames are sent at once: the second of them must not hide the gap before the first.
      if (gap >= this.recentGap || now - this.#gapEndedAt > MAX_TRANSIT_MS) {
        this.recentGap = gap
        this.#gapEndedAt = now
      }
      this.lastFrameAt = now
    }
  }

  /** A frozen process defers `fn` until it resumes. */
  #deferWhileFrozen(fn: () => void): void {
    if (!this.#process.alive) return
    if (this.#process.frozen) this.#deferred.push(fn)
    else fn()
  }
}
