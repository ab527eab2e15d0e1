import { decode } from '../../src/wire/codec/index.js'
import { FIXED_BYTES, FRAME_HEAD, HEARTBEAT_BYTES, LENGTH_BYTES } from '../../src/wire/frame.js'
import { frameReader } from '../../src/wire/frame-reader.js'
import { Kind, LimitStage } from '../../src/wire/messages.js'
import { MAX_DELIVERY } from '../../src/worker/claim.js'
import type { SimLink } from './link.js'
import { ON_ITS_WAY, type Pipe } from './pipe.js'
import type { ProcessSettings, SimProcess, Surroundings } from './process.js'
import type { Planned } from './world.js'

/** Until the main thread has answered a ping, ms. */
const TURN_WAIT = 20
/** A job that its soft limit alone has not stopped is ended after this many `cancelGrace`. */
const SOFT_TO_END = 5
const LIFELINE_MAX = 1024 * 1024

interface Limited {
  soft: number
  hard: number
  began: number
  blockedBefore: number
  timers: Planned[]
}

/**
 * A model of the watchdog thread: the lifeline, the claim word, limits, heartbeats. It is never busy, but it freezes with its
 * process, and it may answer late. With `watchdog: false` it is what the main thread does when it turns.
 */
export class Watchdog {
  lastBeatAt: number
  /** ms of silence that the last beat ended. */
  silence = 0
  #silenceEndedAt = 0
  /** The word is closed for good: nothing more begins in this worker. */
  closed = false
  /** Deliveries that it was asked to cancel. */
  readonly asked = new Set<number>()
  readonly #process: SimProcess
  readonly #around: Surroundings
  readonly #settings: ProcessSettings
  readonly #down: Pipe
  readonly #up: Pipe
  readonly #link: SimLink
  readonly #reader: Generator<undefined, never, Buffer>
  readonly #running = new Map<number, Limited>()
  /** Bytes for the host that its pipe has no room for yet. */
  #unsent: Buffer[] = []
  #started = false
  /** What it would have done while it was frozen. */
  #frozen: (() => void)[] = []
  /** Frames of one lifeline are handled in their order. */
  #handledAt = 0

  constructor(process: SimProcess, around: Surroundings, settings: ProcessSettings, pipes: { down: Pipe; up: Pipe }, link: SimLink) {
    this.#process = process
    this.#around = around
    this.#settings = settings
    this.#down = pipes.down
    this.#up = pipes.up
    this.#link = link
    this.lastBeatAt = around.world.now
    this.#reader = frameReader((bytes, start, end) => this.#frame(Buffer.from(bytes.subarray(start, end))), LIFELINE_MAX)
    this.#reader.next()
    pipes.down.onReadable = () => this.#readLater()
    pipes.up.onRoom = () => this.#flush()
  }

  /** Something has been said to it that it has not heard. */
  get deaf(): boolean {
    return this.#down.size > 0
  }

  start(): void {
    this.#started = true
    this.#beat()
    this.#readLater()
  }

  stop(): void {
    for (const { timers } of this.#running.values()) for (const timer of timers) timer.cancelled = true
    this.#down.closeReader()
    this.#up.closeWriter()
  }

  resume(): void {
    for (const fn of this.#frozen.splice(0)) fn()
  }

  // ---- what the main thread tells it

  began(delivery: number, soft: number, hard: number): void {
    const limited: Limited = { soft, hard, began: this.#around.world.now, blockedBefore: this.#process.main.blockedNow, timers: [] }
    this.#running.set(delivery, limited)
    if (!this.#settings.watchdog) return
    if (soft > 0) this.#limitAt(delivery, limited, soft, () => this.#softLimit(delivery))
    const end = hard > 0 ? hard : soft > 0 ? soft + SOFT_TO_END * this.#settings.cancelGrace : 0
    if (end > 0) this.#limitAt(delivery, limited, end, () => this.#condemn(LimitStage.HARD, delivery))
  }

  ended(delivery: number): void {
    for (const timer of this.#running.get(delivery)?.timers ?? []) timer.cancelled = true
    this.#running.delete(delivery)
  }

  // ---- limits

  /** Time spent in a write that the host does not read counts against no limit. */
  #limitAt(delivery: number, limited: Limited, ms: number, fn: () => void): void {
    const { world } = this.#around
    const due = limited.began + ms + this.#process.main.blockedNow - limited.blockedBefore
    limited.timers.push(
      world.after(Math.max(0, due - world.now) + (due <= world.now ? 1 : 0), () =>
        this.#act(() => {
          if (!this.#running.has(delivery)) return
          if (this.#process.main.isBlocked || limited.began + ms + this.#process.main.blockedNow - limited.blockedBefore > world.now)
            this.#limitAt(delivery, limited, ms, fn)
          else fn()
        }),
      ),
    )
  }

  #softLimit(delivery: number): void {
    this.#send(Kind.LIMIT, LimitStage.SOFT, delivery, 0)
    this.#pursue(delivery, 'soft', () => this.#process.loop.onSoftLimit(delivery, this.#running.get(delivery)?.soft ?? 0))
  }

  /** Asks a job to stop: on the main thread when it turns, by interruption where that is safe; else, a grace later, its worker is given up. */
  #pursue(delivery: number, cause: 'soft' | 'cancel', ask: () => void): void {
    const { world } = this.#around
    const { main, loop } = this.#process
    let turned = false
    main.post(() => {
      turned = true
      ask()
    })
    const interrupt = (): void => {
      if (turned || main.hung?.delivery !== delivery || !main.hung.safe) return
      main.interrupted(() => {
        turned = true
        // Cut off in the middle of the task.
        const running = [...this.#around.truth.jobs.values()].find((job) => job.running?.worker === this.#process.id && job.running.delivery === delivery)
        if (running?.running !== undefined) this.#around.truth.end(running.running)
        loop.onInterrupted(delivery, cause, 'at hang (tasks.js:1:1)')
      })
    }
    const { cancelGrace } = this.#settings
    for (const share of [0.01, 0.1, 0.5]) world.after(share * cancelGrace, () => this.#act(interrupt))
    const given = (): void => {
      if (turned || !this.#running.has(delivery)) return
      if (main.isBlocked) world.after(50, () => this.#act(given))
      else this.#condemn(LimitStage.STUCK, delivery)
    }
    world.after(cancelGrace, () => this.#act(given))
  }

  #condemn(stage: LimitStage, delivery: number): void {
    const lastClaimed = this.#link.recaller.recall(MAX_DELIVERY)
    this.closed = true
    const { world } = this.#around
    // It first asks where the task stands.
    world.after(world.random.next() * 100, () => this.#act(() => this.#send(Kind.LIMIT, stage, delivery, lastClaimed, Buffer.from('at task (tasks.js:1:1)'))))
  }

  // ---- the lifeline

  #readLater(): void {
    if (!this.#started || this.#down.size === 0) {
      if (this.#started && this.#down.writerClosed) this.#hostIsGone()
      return
    }
    const { world, answers } = this.#around
    const ready = Math.max(this.#handledAt, world.now + world.random.next() * answers.latency)
    this.#handledAt = ready
    world.after(ready - world.now, () => this.#act(() => this.#read()))
  }

  #read(): void {
    const { random } = this.#around.world
    while (this.#down.size > 0) this.#reader.next(this.#down.take(random.between(1, this.#down.size)))
    if (this.#down.writerClosed) this.#hostIsGone()
  }

  #hostIsGone(): void {
    this.#around.world.after(1, () => this.#process.die({ exitCode: null, signal: 'SIGKILL' }))
  }

  #frame(body: Buffer): void {
    const delivery = body.readUInt32LE(4)
    switch (body[0]) {
      case Kind.RECALL:
        this.#onLifeline(() => this.#recalled(delivery))
        return
      case Kind.CANCEL:
        this.asked.add(delivery)
        this.#onLifeline(() => {
          const reason = decode(body.subarray(FIXED_BYTES), 4)
          const lastClaimed = this.#recalled(body.readUInt32LE(FIXED_BYTES))
          if (delivery > lastClaimed) return
          const ask = (): void => this.#process.loop.onCancel(delivery, reason)
          if (this.#settings.watchdog) this.#pursue(delivery, 'cancel', ask)
          else ask()
        })
        return
      case Kind.SOFT_ASK:
        this.#process.main.post(() => this.#process.loop.onSoftLimit(delivery, body.readUInt32LE(FIXED_BYTES)))
        return
      default:
    }
  }

  /** With `watchdog: false` it is heard when the main thread turns. */
  #onLifeline(fn: () => void): void {
    if (this.#settings.watchdog) fn()
    else this.#process.main.post(fn)
  }

  #recalled(upTo: number): number {
    const lastClaimed = this.#link.recaller.recall(upTo)
    this.#send(Kind.RECALLED, 0, lastClaimed, upTo)
    return lastClaimed
  }

  #beat(): void {
    const { world } = this.#around
    const { main } = this.#process
    const next = (): void => void world.after(this.#settings.heartbeatInterval, () => this.#act(() => this.#beat()))
    const tell = (age: number): void => {
      const payload = Buffer.alloc(HEARTBEAT_BYTES)
      payload.writeDoubleLE(this.#process.rss, 0)
      payload.writeDoubleLE(age, 8)
      this.#send(Kind.HEARTBEAT, 0, 0, 0, payload)
    }
    if (!this.#settings.watchdog) {
      main.post(() => {
        tell(0)
        next()
      })
      return
    }
    if (main.free) tell(0)
    else world.after(TURN_WAIT, () => this.#act(() => tell(main.free ? 0 : world.now - main.turnedAt)))
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
      const took = this.#up.put(first)
      if (took < first.length) {
        this.#unsent[0] = first.subarray(took)
        return
      }
      this.#unsent.shift()
      const { now } = this.#around.world
      const gap = now - this.lastBeatAt
      // One that thaws says all that has piled up at once: what it had been silent for is not forgotten by the second word.
      if (gap >= this.silence || now - this.#silenceEndedAt > ON_ITS_WAY) {
        this.silence = gap
        this.#silenceEndedAt = now
      }
      this.lastBeatAt = now
    }
  }

  /** A frozen process does nothing, and all of it when it goes on. */
  #act(fn: () => void): void {
    if (!this.#process.alive) return
    if (this.#process.frozen) this.#frozen.push(fn)
    else fn()
  }
}
