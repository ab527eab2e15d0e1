import type { ProcessExit } from '../../src/pool/worker/launcher.js'
import { Kind } from '../../src/wire/messages.js'
import type { JobLoop } from '../../src/worker/jobs/job-loop.js'
import type { Pipe } from './pipe.js'
import type { SimProcess, Surroundings } from './process.js'

/** Thrown through the job loop by a call that never ends: its JavaScript goes no further, as under a real busy loop. */
export const UNWIND = new Error('this call never ends')

type Effect =
  | { kind: 'write'; bytes: Buffer; at: number }
  | { kind: 'busy'; ms: number }
  | { kind: 'mark'; fn: () => void }
  | { kind: 'hang'; delivery: number; safe: boolean }
  | { kind: 'exit'; exit: ProcessExit }

/**
 * The main thread of a simulated worker. The job loop's code runs at once; what it does to the world (bytes written, time
 * taken, tasks begun) is done afterwards, in order and in virtual time, and only then does the thread turn again. What was
 * still to come when the process dies has not happened.
 */
export class MainThread {
  loop: JobLoop | undefined
  /** When it last turned. */
  turnedAt: number
  /** The call that never ends, and whether it stands where it can be interrupted. */
  hung: { delivery: number; safe: boolean } | undefined
  /** When code that belongs to no job took the thread, for ever. */
  standsSince: number | undefined
  /** A call that never ends is on its way out of the job loop. */
  unwinding = false
  /** Dies once so many bytes more were written, or read. */
  diesAfterWriting = Number.POSITIVE_INFINITY
  diesAfterReading = Number.POSITIVE_INFINITY
  /** Deliveries whose answer is whole in the results pipe, and since when. */
  readonly answered = new Map<number, number>()
  accepted = 0
  /** Total time spent in writes that the host did not read, ms. */
  blockedFor = 0
  readonly #process: SimProcess
  readonly #around: Surroundings
  readonly #jobs: Pipe
  readonly #results: Pipe
  readonly #inbox: (() => void)[] = []
  #effects: Effect[] = []
  #waiting = false
  #blockedSince: number | undefined
  #turnPlanned = false
  #readPosted = false
  #working = false

  constructor(process: SimProcess, around: Surroundings, pipes: { jobs: Pipe; results: Pipe }) {
    this.#process = process
    this.#around = around
    this.#jobs = pipes.jobs
    this.#results = pipes.results
    this.turnedAt = around.world.now
    pipes.jobs.onReadable = () => this.#postRead()
    pipes.results.onRoom = () => this.#roomAgain()
  }

  /** Nothing holds it up: it may turn. */
  get free(): boolean {
    return this.#process.alive && !this.#process.frozen && !this.#waiting && this.hung === undefined && this.#effects.length === 0
  }

  // ---- what runs on it

  /** Runs `fn` out of a native callback, when it turns. */
  post(fn: () => void): void {
    this.#inbox.push(fn)
    this.#planTurn()
  }

  later(ms: number, fn: () => void): void {
    this.#around.world.after(ms, () => this.post(fn))
  }

  // ---- what its code does to the world

  write(chunks: readonly Uint8Array[]): void {
    this.#do({ kind: 'write', bytes: Buffer.concat(chunks), at: 0 })
  }

  busy(ms: number): void {
    if (ms > 0) this.#do({ kind: 'busy', ms })
  }

  mark(fn: () => void): void {
    this.#do({ kind: 'mark', fn })
  }

  exit(exit: ProcessExit): void {
    this.#do({ kind: 'exit', exit })
  }

  /** The call that is under way never ends. */
  hang(delivery: number, safe: boolean): never {
    this.#do({ kind: 'hang', delivery, safe })
    this.unwinding = true
    throw UNWIND
  }

  /** Code that belongs to no job never ends. */
  stand(): void {
    this.standsSince = this.#around.world.now
    this.#do({ kind: 'hang', delivery: 0, safe: false })
  }

  /** The watchdog cut the call off: the thread goes on with `fn`. */
  interrupted(fn: () => void): void {
    this.hung = undefined
    this.#inbox.unshift(fn)
    this.#planTurn()
  }

  resume(): void {
    this.#work()
    this.#planTurn()
    if (this.#jobs.size > 0) this.#postRead()
  }

  stop(): void {
    this.#effects = []
    this.#inbox.length = 0
    this.#jobs.closeReader()
    this.#results.closeWriter()
  }

  // ---- within

  #planTurn(): void {
    if (this.#turnPlanned || this.#inbox.length === 0 || !this.free) return
    this.#turnPlanned = true
    const { world } = this.#around
    world.after(world.random.chance(0.7) ? 0 : world.random.next() * 0.3, () => {
      this.#turnPlanned = false
      if (!this.free) return
      const fn = this.#inbox.shift()
      if (fn === undefined) return
      this.turnedAt = world.now
      world.touched = true
      fn()
      this.unwinding = false
      this.#planTurn()
    })
  }

  #postRead(): void {
    if (this.#readPosted || !this.#process.alive) return
    this.#readPosted = true
    this.#around.world.after(this.#around.world.random.next() * this.#around.weather.latency, () =>
      this.post(() => {
        this.#readPosted = false
        this.#read()
        if (this.#jobs.size > 0) this.#postRead()
      }),
    )
  }

  #read(): void {
    const { world, weather } = this.#around
    const { random } = world
    if (this.#jobs.size === 0) return
    const most = random.chance(weather.cuts) ? random.between(1, this.#jobs.size) : 65_536
    if (this.diesAfterReading <= Math.min(most, this.#jobs.size)) {
      this.loop?.receive(this.#jobs.take(this.diesAfterReading))
      this.diesAfterReading = Number.POSITIVE_INFINITY
      this.exit({ exitCode: null, signal: 'SIGSEGV' })
      return
    }
    const chunk = this.#jobs.take(most)
    this.diesAfterReading -= chunk.length
    this.loop?.receive(chunk)
    // It may be reused afterwards: whoever still needs it has copied it.
    chunk.fill(0xdd)
  }

  #do(effect: Effect): void {
    if (!this.#process.alive) return
    this.#effects.push(effect)
    this.#work()
  }

  #work(): void {
    if (this.#working) return
    this.#working = true
    while (this.#effects.length > 0 && !this.#waiting && this.hung === undefined && this.#process.alive && !this.#process.frozen) {
      if (!this.#step(this.#effects[0]!)) break
      this.#effects.shift()
    }
    this.#working = false
    this.#planTurn()
  }

  /** True: it is done, and the next may follow. */
  #step(effect: Effect): boolean {
    const { world } = this.#around
    switch (effect.kind) {
      case 'write':
        return this.#put(effect)
      case 'busy':
        this.#waiting = true
        world.after(effect.ms, () => {
          this.#waiting = false
          this.#work()
        })
        return true
      case 'mark':
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

  #put(effect: { bytes: Buffer; at: number }): boolean {
    const { world } = this.#around
    if (this.#results.readerClosed) {
      // As the real one: whoever cannot answer any more leaves.
      this.#process.die({ exitCode: null, signal: 'SIGKILL' })
      return false
    }
    const rest = effect.bytes.subarray(effect.at)
    const most = Math.min(rest.length, this.diesAfterWriting)
    const took = this.#results.put(rest.subarray(0, most))
    this.#note(effect.bytes, effect.at, effect.at + took)
    effect.at += took
    this.diesAfterWriting -= took
    if (this.diesAfterWriting <= 0) {
      this.#process.die({ exitCode: null, signal: 'SIGKILL' })
      return false
    }
    if (effect.at === effect.bytes.length) {
      if (this.#blockedSince !== undefined) this.blockedFor += world.now - this.#blockedSince
      this.#blockedSince = undefined
      return true
    }
    this.#blockedSince ??= world.now
    this.#waiting = true
    return false
  }

  get blockedNow(): number {
    return this.blockedFor + (this.#blockedSince === undefined ? 0 : this.#around.world.now - this.#blockedSince)
  }

  get isBlocked(): boolean {
    return this.#blockedSince !== undefined
  }

  #roomAgain(): void {
    if (this.#blockedSince === undefined || !this.#waiting) return
    this.#around.world.after(0, () => {
      if (this.#blockedSince === undefined) return
      this.#waiting = false
      this.#work()
    })
  }

  /** Takes note of the frames that have now reached the kernel to their last byte. */
  #note(bytes: Buffer, from: number, to: number): void {
    for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt32LE(at)) {
      const end = at + 4 + bytes.readUInt32LE(at)
      if (end > to) return
      if (end <= from) continue
      const kind = bytes[at + 4]
      if (kind === Kind.READY || kind === Kind.END) this.answered.set(bytes.readUInt32LE(at + 8), this.#around.world.now)
      if (kind === Kind.ACCEPTED) this.accepted++
    }
  }
}
