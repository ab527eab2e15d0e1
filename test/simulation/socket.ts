import type { HubReadable, HubWritable } from '../../src/hub/index.js'
import type { Host, Pollable } from './host.js'
import type { Pipe } from './pipe.js'
import type { World } from './world.js'

/** As Node's streams: a write beyond it answers false. */
const HIGH_WATER = 16 * 1024

/** How the world treats the bytes of one run. */
export interface Weather {
  /** Longest time until bytes in a pipe are seen, ms. */
  latency: number
  /** Share of reads that are cut at some byte. */
  cuts: number
}

type Listeners = { data: ((chunk: Buffer) => void)[]; error: ((error: Error) => void)[]; end: (() => void)[]; close: (() => void)[]; drain: (() => void)[] }

/** The host's end of a worker's pipe: what the hub needs of a `net.Socket`, over pipes of the simulated kernel. */
export class SimSocket implements HubReadable, HubWritable, Pollable {
  readyAt = 0
  destroyed = false
  readonly #world: World
  readonly #host: Host
  readonly #weather: Weather
  readonly #in: Pipe | undefined
  readonly #out: Pipe | undefined
  readonly #listeners: Listeners = { data: [], error: [], end: [], close: [], drain: [] }
  /** Taken by `write`, not yet in the kernel. */
  #pending: Uint8Array[] = []
  #length = 0
  #needDrain = false
  #corked = false
  #failure: Error | undefined
  #ended = false

  constructor(world: World, host: Host, weather: Weather, { read, write }: { read?: Pipe; write?: Pipe }) {
    this.#world = world
    this.#host = host
    this.#weather = weather
    this.#in = read
    this.#out = write
    if (read !== undefined) read.onReadable = () => this.#wake()
    if (write !== undefined) write.onRoom = () => this.#wake()
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
    const goOn = this.#length < HIGH_WATER
    if (!goOn) this.#needDrain = true
    if (!this.#corked) this.#flush()
    if (this.#needDrain && this.#length === 0) this.#wake()
    return goOn
  }

  cork(): void {
    this.#corked = true
  }

  uncork(): void {
    this.#corked = false
    this.#flush()
    if (this.#needDrain && this.#length === 0) this.#wake()
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#host.gone(this)
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }

  /** The pipe breaks: what is on its way is lost, on either side. */
  break(error: Error): void {
    this.#failure ??= error
    this.#wake()
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
      for (const tell of this.#listeners.drain) tell()
    }
    return !this.destroyed
  }

  #pollReadable(from: Pipe): void {
    const { random } = this.#world
    while (from.size > 0 && !this.destroyed) {
      const cut = random.chance(this.#weather.cuts)
      const chunk = from.take(cut ? random.between(1, from.size) : 65_536)
      for (const tell of this.#listeners.data) tell(chunk)
      // The rest is left to another turn.
      if (cut && random.chance(0.5)) break
    }
    if (this.destroyed) return
    // What is there already is found by the next poll.
    if (from.size > 0) this.#host.ready(this, 0)
    else if (from.writerClosed && !this.#ended) {
      this.#ended = true
      for (const tell of this.#listeners.end) tell()
      this.#close()
    }
  }

  #flush(): void {
    const out = this.#out
    if (out === undefined || out.readerClosed) return
    while (this.#pending.length > 0) {
      const first = this.#pending[0]!
      const took = out.put(first)
      this.#length -= took
      if (took < first.length) {
        this.#pending[0] = first.subarray(took)
        return
      }
      this.#pending.shift()
    }
  }

  #wake(): void {
    if (!this.destroyed) this.#host.ready(this, this.#world.random.next() * this.#weather.latency)
  }

  #fail(error: Error): void {
    this.destroyed = true
    for (const tell of this.#listeners.error) tell(error)
    for (const tell of this.#listeners.close) tell()
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }

  #close(): void {
    if (this.destroyed) return
    this.destroyed = true
    for (const tell of this.#listeners.close) tell()
    this.#in?.closeReader()
    this.#out?.closeWriter()
  }
}
