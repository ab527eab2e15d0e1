import type { HubReadable, HubWritable } from '../../src/hub/index.js'
import type { Host, Pollable } from './host.js'
import type { Pipe } from './pipe.js'
import type { World } from './world.js'

/** As in Node's streams: `write` returns false once this many bytes are buffered. */
const HIGH_WATER_MARK = 16 * 1024

/** How fast and in which pieces the bytes of pipes arrive. It may change during a run. */
export interface PipeConditions {
  /** The longest time until the reader of a pipe sees its bytes, ms. */
  latency: number
  /** Share of reads that return only a part of the available bytes, 0 to 1. */
  cutShare: number
}

type Listeners = { data: ((chunk: Buffer) => void)[]; error: ((error: Error) => void)[]; end: (() => void)[]; close: (() => void)[]; drain: (() => void)[] }

/** The host's end of a worker's pipe: the part of `net.Socket` that the hub uses, over pipes of the simulated kernel. */
export class SimSocket implements HubReadable, HubWritable, Pollable {
  readyAt = 0
  destroyed = false
  /** When the host was given it, ms; undefined: not yet. */
  givenAt: number | undefined
  readonly #world: World
  readonly #host: Host
  readonly #pipeConditions: PipeConditions
  readonly #in: Pipe | undefined
  readonly #out: Pipe | undefined
  readonly #listeners: Listeners = { data: [], error: [], end: [], close: [], drain: [] }
  /** Passed to `write`, not yet in the kernel. */
  #pending: Uint8Array[] = []
  #length = 0
  #needDrain = false
  #corked = false
  #failure: Error | undefined
  #ended = false
  #paused = false

  constructor(world: World, host: Host, pipeConditions: PipeConditions, { read, write }: { read?: Pipe; write?: Pipe }) {
    this.#world = world
    this.#host = host
    this.#pipeConditions = pipeConditions
    this.#in = read
    this.#out = write
    this.givenAt = world.now
    if (read !== undefined) read.onReadable = () => this.#schedulePoll()
    if (write !== undefined) write.onWritable = () => this.#schedulePoll()
  }

  on(event: string, listener: (...args: never[]) => void): this {
    ;(this.#listeners[event as keyof Listeners] as unknown[]).push(listener)
    return this
  }

  get writableLength(): number {
    return this.#length
  }

  write(bytes: Uint8Array): boolean {
    if (this.destroyed) return false
    this.#pending.push(bytes)
    this.#length += bytes.length
    const mayContinue = this.#length < HIGH_WATER_MARK
    if (!mayContinue) this.#needDrain = true
    if (!this.#corked) this.#flush()
    if (this.#needDrain && this.#length === 0) this.#schedulePoll()
    return mayContinue
  }

  cork(): void {
    this.#corked = true
  }

  uncork(): void {
    this.#corked = false
    this.#flush()
    if (this.#needDrain && this.#length === 0) this.#schedulePoll()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#schedulePoll()
  }

  unref(): void {}

  /** It is on its way to the host: nobody reads it. */
  hold(): void {
    this.givenAt = undefined
  }

  handOver(): void {
    this.givenAt = this.#world.now
    this.#schedulePoll()
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#host.forget(this)
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }

  /** The pipe fails: the bytes in transit are lost, in both directions. */
  break(error: Error): void {
    this.#failure ??= error
    this.#schedulePoll()
  }

  poll(): void {
    if (this.destroyed) return
    if (this.#failure !== undefined) {
      this.#fail(this.#failure)
      return
    }
    if (this.#out !== undefined && !this.#pollWritable(this.#out)) return
    if (this.#in !== undefined) this.#pollReadable(this.#in)
  }

  #pollWritable(out: Pipe): boolean {
    if (out.readerClosed) {
      if (this.#in !== undefined && this.#in.size > 0) return true
      if (this.#length > 0) this.#fail(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      else this.#close()
      return false
    }
    this.#flush()
    if (this.#needDrain && this.#length === 0) {
      this.#needDrain = false
      for (const listener of this.#listeners.drain) listener()
    }
    return !this.destroyed
  }

  #pollReadable(from: Pipe): void {
    const { random } = this.#world
    while (from.size > 0 && !this.destroyed && !this.#paused) {
      const cut = random.chance(this.#pipeConditions.cutShare)
      const chunk = from.take(cut ? random.between(1, from.size) : 65_536)
      for (const listener of this.#listeners.data) listener(chunk)
      // The next turn reads the remaining bytes.
      if (cut && random.chance(0.5)) break
    }
    if (this.destroyed || this.#paused) return
    // Bytes that are already there are found by the next poll.
    if (from.size > 0) this.#host.markReady(this, 0)
    else if (from.writerClosed && !this.#ended) {
      this.#ended = true
      for (const listener of this.#listeners.end) listener()
      this.#close()
    }
  }

  #flush(): void {
    const out = this.#out
    if (out === undefined || out.readerClosed) return
    while (this.#pending.length > 0) {
      const first = this.#pending[0]!
      const written = out.put(first)
      this.#length -= written
      if (written < first.length) {
        this.#pending[0] = first.subarray(written)
        return
      }
      this.#pending.shift()
    }
  }

  #schedulePoll(): void {
    if (!this.destroyed && this.givenAt !== undefined) this.#host.markReady(this, this.#world.random.next() * this.#pipeConditions.latency)
  }

  #fail(error: Error): void {
    this.destroyed = true
    for (const listener of this.#listeners.error) listener(error)
    for (const listener of this.#listeners.close) listener()
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }

  #close(): void {
    if (this.destroyed) return
    this.destroyed = true
    for (const listener of this.#listeners.close) listener()
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }
}
