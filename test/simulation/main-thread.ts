import type { ProcessExit } from '../../src/pool/worker/launch/launcher.js'
import { Kind } from '../../src/wire/messages.js'
import type { JobLoop } from '../../src/worker/jobs/job-loop.js'
import type { Pipe } from './pipe.js'
import type { SimProcess, SimulationContext } from './process.js'

/** Thrown through the job loop by a call that never ends: no JavaScript after the call runs, as with a real endless loop. */
export const UNWIND = new Error('this call never ends')

type Effect =
  | { kind: 'write'; bytes: Buffer; at: number }
  | { kind: 'busy'; ms: number }
  | { kind: 'callback'; fn: () => void }
  | { kind: 'hang'; delivery: number; safe: boolean }
  | { kind: 'exit'; exit: ProcessExit }

/**
 * The main thread of a simulated worker. The code of the job loop runs at once. Its effects (bytes written, time taken, tasks begun) are
 * queued and applied afterwards, in order and in virtual time; the event loop turns again once the queue is empty. Effects that are
 * still queued when the process dies do not happen.
 */
export class MainThread {
  loop: JobLoop | undefined
  /** When its event loop last turned, ms. */
  turnedAt: number
  /** The call that never ends, and whether it can be interrupted where it is. */
  hung: { delivery: number; safe: boolean } | undefined
  /** When code that belongs to no job blocked the thread forever, ms. */
  detachedHangSince: number | undefined
  /** `UNWIND` is propagating through the job loop. */
  unwinding = false
  /** The process dies after this many more bytes written, or read. */
  diesAfterWriting = Number.POSITIVE_INFINITY
  diesAfterReading = Number.POSITIVE_INFINITY
  /** When the last byte of each delivery's READY or END entered the results pipe, ms. */
  readonly answeredAt = new Map<number, number>()
  /** The number of ACCEPTED frames in the results pipe. */
  accepted = 0
  readonly #process: SimProcess
  readonly #context: SimulationContext
  readonly #jobs: Pipe
  readonly #results: Pipe
  readonly #callbacks: (() => void)[] = []
  #effects: Effect[] = []
  #suspended = false
  /** How long finished writes waited for the host to read, ms. */
  #writeBlockedFor = 0
  #writeBlockedSince: number | undefined
  #turnScheduled = false
  #readScheduled = false
  #applying = false

  constructor(process: SimProcess, context: SimulationContext, pipes: { jobs: Pipe; results: Pipe }) {
    this.#process = process
    this.#context = context
    this.#jobs = pipes.jobs
    this.#results = pipes.results
    this.turnedAt = context.world.now
    pipes.jobs.onReadable = () => this.#scheduleRead()
    pipes.results.onWritable = () => this.#onResultsWritable()
  }

  /** Nothing blocks the thread: its event loop may turn. */
  get canTurn(): boolean {
    return this.#process.alive && !this.#process.frozen && !this.#suspended && this.hung === undefined && this.#effects.length === 0
  }

  /** The time on its clock, ms: its code runs at once, and what it spends counts here. */
  get time(): number {
    return this.#effects.reduce((time, effect) => time + (effect.kind === 'busy' ? effect.ms : 0), this.#context.world.now)
  }

  // ---- what runs on the thread

  /** Runs `fn` in a native callback, in a later turn of the event loop. */
  post(fn: () => void): void {
    this.#callbacks.push(fn)
    this.#scheduleTurn()
  }

  later(ms: number, fn: () => void): void {
    this.#context.world.schedule(ms, () => this.post(fn))
  }

  // ---- the effects of its code

  write(chunks: readonly Uint8Array[]): void {
    this.#add({ kind: 'write', bytes: Buffer.concat(chunks), at: 0 })
  }

  busy(ms: number): void {
    if (ms > 0) this.#add({ kind: 'busy', ms })
  }

  /** Calls `fn` once all effects before it have been applied. */
  afterEffects(fn: () => void): void {
    this.#add({ kind: 'callback', fn })
  }

  exit(exit: ProcessExit): void {
    this.#add({ kind: 'exit', exit })
  }

  /** The current call never ends. */
  hang(delivery: number, safe: boolean): never {
    this.#add({ kind: 'hang', delivery, safe })
    this.unwinding = true
    throw UNWIND
  }

  /** The current code belongs to no job and never ends. */
  hangDetached(): void {
    this.detachedHangSince = this.#context.world.now
    this.#add({ kind: 'hang', delivery: 0, safe: false })
  }

  /** The watchdog terminated the call: the thread continues with `fn`. */
  interrupted(fn: () => void): void {
    this.hung = undefined
    this.#callbacks.unshift(fn)
    this.#scheduleTurn()
  }

  resume(): void {
    this.#applyEffects()
    this.#scheduleTurn()
    if (this.#jobs.size > 0) this.#scheduleRead()
  }

  stop(): void {
    this.#effects = []
    this.#callbacks.length = 0
    this.#jobs.closeReader()
    this.#results.closeWriter()
  }

  // ---- turns of the event loop

  #scheduleTurn(): void {
    if (this.#turnScheduled || this.#callbacks.length === 0 || !this.canTurn) return
    this.#turnScheduled = true
    const { world } = this.#context
    world.schedule(world.random.chance(0.7) ? 0 : world.random.next() * 0.3, () => {
      this.#turnScheduled = false
      if (!this.canTurn) return
      const fn = this.#callbacks.shift()
      if (fn === undefined) return
      this.turnedAt = world.now
      world.mayHaveSettled = true
      fn()
      this.unwinding = false
      this.#scheduleTurn()
    })
  }

  #scheduleRead(): void {
    if (this.#readScheduled || !this.#process.alive) return
    this.#readScheduled = true
    this.#context.world.schedule(this.#context.world.random.next() * this.#context.pipeConditions.latency, () =>
      this.post(() => {
        this.#readScheduled = false
        this.#read()
        if (this.#jobs.size > 0) this.#scheduleRead()
      }),
    )
  }

  #read(): void {
    const { world, pipeConditions } = this.#context
    const { random } = world
    if (this.#jobs.size === 0) return
    const max = random.chance(pipeConditions.cutShare) ? random.between(1, this.#jobs.size) : 65_536
    if (this.diesAfterReading <= Math.min(max, this.#jobs.size)) {
      this.loop?.receive(this.#jobs.take(this.diesAfterReading))
      this.diesAfterReading = Number.POSITIVE_INFINITY
      this.exit({ exitCode: null, signal: 'SIGSEGV' })
      return
    }
    const chunk = this.#jobs.take(max)
    this.diesAfterReading -= chunk.length
    this.loop?.receive(chunk)
    // A real reader reuses its buffer: code that still needs the bytes must have copied them.
    chunk.fill(0xdd)
  }

  #add(effect: Effect): void {
    if (!this.#process.alive) return
    this.#effects.push(effect)
    this.#applyEffects()
  }

  #applyEffects(): void {
    if (this.#applying) return
    this.#applying = true
    while (this.#effects.length > 0 && !this.#suspended && this.hung === undefined && this.#process.alive && !this.#process.frozen) {
      if (!this.#apply(this.#effects[0]!)) break
      this.#effects.shift()
    }
    this.#applying = false
    this.#scheduleTurn()
  }

  /** Returns true once the effect is complete. */
  #apply(effect: Effect): boolean {
    const { world } = this.#context
    switch (effect.kind) {
      case 'write':
        return this.#applyWrite(effect)
      case 'busy':
        this.#suspended = true
        world.schedule(effect.ms, () => {
          this.#suspended = false
          this.#applyEffects()
        })
        return true
      case 'callback':
        effect.fn()
        return true
      case 'hang':
        this.hung = { delivery: effect.delivery, safe: effect.safe }
        return true
      case 'exit':
        this.#process.die(effect.exit)
        return false
    }
  }

  #applyWrite(effect: { bytes: Buffer; at: number }): boolean {
    const { world } = this.#context
    if (this.#results.readerClosed) {
      // A real worker also exits when it cannot write results.
      this.#process.die({ exitCode: null, signal: 'SIGKILL' })
      return false
    }
    const remaining = effect.bytes.subarray(effect.at)
    const max = Math.min(remaining.length, this.diesAfterWriting)
    const written = this.#results.put(remaining.subarray(0, max))
    this.#recordFrames(effect.bytes, effect.at, effect.at + written)
    effect.at += written
    this.diesAfterWriting -= written
    if (this.diesAfterWriting <= 0) {
      this.#process.die({ exitCode: null, signal: 'SIGKILL' })
      return false
    }
    if (effect.at === effect.bytes.length) {
      if (this.#writeBlockedSince !== undefined) this.#writeBlockedFor += world.now - this.#writeBlockedSince
      this.#writeBlockedSince = undefined
      return true
    }
    this.#writeBlockedSince ??= world.now
    this.#suspended = true
    return false
  }

  /** How long all writes have waited for the host to read, ms. */
  get writeBlockedTotal(): number {
    return this.#writeBlockedFor + (this.#writeBlockedSince === undefined ? 0 : this.#context.world.now - this.#writeBlockedSince)
  }

  get isWriteBlocked(): boolean {
    return this.#writeBlockedSince !== undefined
  }

  #onResultsWritable(): void {
    if (this.#writeBlockedSince === undefined || !this.#suspended) return
    this.#context.world.schedule(0, () => {
      if (this.#writeBlockedSince === undefined) return
      this.#suspended = false
      this.#applyEffects()
    })
  }

  /** Records the frames whose last byte is among the bytes `from` to `to`. */
  #recordFrames(bytes: Buffer, from: number, to: number): void {
    for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt32LE(at)) {
      const end = at + 4 + bytes.readUInt32LE(at)
      if (end > to) return
      if (end <= from) continue
      const kind = bytes[at + 4]
      if (kind === Kind.READY || kind === Kind.END) this.answeredAt.set(bytes.readUInt32LE(at + 8), this.#context.world.now)
      if (kind === Kind.ACCEPTED) this.accepted++
    }
  }
}
