import { runInThisContext } from 'node:vm'
import { expect } from 'vitest'
import { decode, encode } from '../../src/wire/codec/index.js'
import { FRAME_HEAD, JOB_HEAD, STATS_BYTES } from '../../src/wire/frame.js'
import { FLAG_META, FLAG_STATS, FLAG_STREAM, type JobMeta, Kind } from '../../src/wire/messages.js'
import { decodeError } from '../../src/wire/remote-error/index.js'
import { Claimer, Recaller } from '../../src/worker/claim.js'
import type { WorkerJob } from '../../src/worker/jobs/job.js'
import { JobLoop } from '../../src/worker/jobs/job-loop.js'
import type { JobLoopOptions, JobScope } from '../../src/worker/jobs/loop-options.js'
import type { WatchdogLink } from '../../src/worker/link.js'
import { type RegisteredTask, TaskRegistry, type TaskRun } from '../../src/worker/tasks/load.js'

export interface Frame {
  kind: Kind
  flags: number
  attempt: number
  delivery: number
  job: number
  payload: Buffer
}

export const frameOf = (kind: Kind, delivery: number, payload: Uint8Array = Buffer.alloc(0), flags = 0): Buffer => {
  const frame = Buffer.alloc(FRAME_HEAD + payload.length)
  frame.writeUInt32LE(frame.length - 4, 0)
  frame[4] = kind
  frame[5] = flags
  frame.writeUInt16LE(1, 6)
  frame.writeUInt32LE(delivery, 8)
  frame.writeDoubleLE(1000 + delivery, 12)
  frame.set(payload, FRAME_HEAD)
  return frame
}

export interface JobSpec {
  args?: unknown
  soft?: number
  hard?: number
  meta?: JobMeta
  stream?: boolean
  attempt?: number
  /** Instead of encoded arguments. */
  raw?: Buffer
}

export const jobFrame = (delivery: number, task: number, { args = [], soft = 0, hard = 0, meta, stream = false, attempt = 1, raw }: JobSpec = {}): Buffer => {
  const encoded = encode(args, 0)
  const body = raw ?? Buffer.concat([encoded.body, ...encoded.binaries])
  const parts: Buffer[] = [Buffer.alloc(JOB_HEAD)]
  if (meta !== undefined) {
    const { body: bytes } = encode(meta, 0)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    parts.push(length, bytes)
  }
  const frame = Buffer.concat([...parts, body])
  frameOf(Kind.JOB, delivery).copy(frame)
  frame.writeUInt32LE(frame.length - 4, 0)
  frame[5] = (meta === undefined ? 0 : FLAG_META) | (stream ? FLAG_STREAM : 0)
  frame.writeUInt16LE(attempt, 6)
  frame.writeUInt16LE(task, 20)
  frame.writeUInt32LE(soft, 24)
  frame.writeUInt32LE(hard, 28)
  return frame
}

export const pullFrame = (delivery: number, items: number, bytes = 1 << 20): Buffer => {
  const payload = Buffer.alloc(8)
  payload.writeUInt32LE(items, 0)
  payload.writeUInt32LE(bytes, 4)
  return frameOf(Kind.PULL, delivery, payload)
}

/** Cuts a stream of bytes into frames. */
export class FrameCutter {
  #rest: Buffer = Buffer.alloc(0)

  take(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let rest = Buffer.concat([this.#rest, bytes])
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE(0)) {
      const end = 4 + rest.readUInt32LE(0)
      frames.push({
        kind: rest[4] as Kind,
        flags: rest[5]!,
        attempt: rest.readUInt16LE(6),
        delivery: rest.readUInt32LE(8),
        job: rest.readDoubleLE(12),
        payload: rest.subarray(FRAME_HEAD, end),
      })
      rest = rest.subarray(end)
    }
    this.#rest = rest
    return frames
  }
}

const payloadOf = (frame: Frame): Buffer => ((frame.flags & FLAG_STATS) !== 0 ? frame.payload.subarray(STATS_BYTES) : frame.payload)
export const sentBy = (frame: Frame): unknown => decode(payloadOf(frame), 0)
export const errorOf = (frame: Frame): unknown => decodeError(payloadOf(frame), 0)

const names = new Map<number, string>(Object.entries(Kind).map(([name, kind]) => [kind, name]))

/** Records the loop's calls to the watchdog and its frames in one list, so that a test can check their order. */
export class FakeLink implements WatchdogLink {
  readonly word = new Int32Array(new SharedArrayBuffer(4))
  readonly claimer = new Claimer(this.word, 0)
  readonly recaller = new Recaller(this.word, 0)
  readonly said: string[] = []
  wakes = 0
  sync = 0

  began(slot: number, delivery: number, soft: number, hard: number): void {
    this.said.push(`began ${slot} ${delivery} ${soft} ${hard}`)
  }
  ended(slot: number): void {
    this.said.push(`ended ${slot}`)
  }
  entering(delivery: number): void {
    this.sync = delivery
  }
  left(): void {
    this.sync = 0
  }
  beforeWrite(): void {}
  afterWrite(): void {}
  wake(): void {
    this.wakes += 1
  }
}

const noScope: JobScope = { enter: () => {}, leave: () => true, run: (_job, fn) => fn(), current: () => undefined }

/** A job loop whose pipes, watchdog and clock are the test's. */
export class Harness {
  readonly link = new FakeLink()
  readonly frames: Frame[] = []
  /** Frames of each write, as `KIND delivery`. */
  readonly writes: string[][] = []
  readonly broken: unknown[] = []
  readonly faults: { error: unknown; job: WorkerJob }[] = []
  readonly loop: JobLoop
  finished = 0
  now = 0
  #timers: { at: number; fn: () => void }[] = []

  constructor(tasks: Record<string, TaskRun>, options: Partial<JobLoopOptions> = {}, config: Partial<JobLoopOptions['config']> = {}) {
    const cutter = new FrameCutter()
    this.loop = new JobLoop({
      config: { poolId: 'pool', concurrency: 1, maxMessageSize: 1 << 20, measureMemory: false, ...config },
      write: (chunks) => {
        const frames = cutter.take(Buffer.concat(chunks))
        this.frames.push(...frames)
        const said = frames.map((frame) => `${names.get(frame.kind)} ${frame.delivery}`)
        this.writes.push(said)
        this.link.said.push(...said)
      },
      link: this.link,
      clock: { now: () => this.now, wall: () => 1_000 + this.now, later: (ms, fn) => void this.#timers.push({ at: this.now + ms, fn }) },
      rss: () => 4096,
      scope: noScope,
      onFinished: () => {
        this.finished += 1
      },
      onBroken: (error) => this.broken.push(error),
      onFault: (error, job) => this.faults.push({ error, job }),
      ...options,
    })
    this.loop.start(new TaskRegistry(Object.entries(tasks).map(([name, run]): RegisteredTask => ({ name, run }))))
  }

  give(...frames: Buffer[]): void {
    this.loop.receive(Buffer.concat(frames))
  }

  /** Lets promises settle, then answers one wake, as the link would. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.link.wakes === 0) return
    this.link.wakes = 0
    this.loop.onWake()
    await new Promise((resolve) => setImmediate(resolve))
  }

  pass(ms: number): void {
    this.now += ms
    const due = this.#timers.filter(({ at }) => at <= this.now)
    this.#timers = this.#timers.filter(({ at }) => at > this.now)
    for (const { fn } of due) fn()
  }

  of(kind: Kind): Frame[] {
    return this.frames.filter((frame) => frame.kind === kind)
  }

  get said(): string[] {
    return this.writes.flat()
  }
}

export interface Deferred {
  promise: Promise<unknown>
  resolve: (value: unknown) => void
}

export const deferred = (): Deferred => {
  let resolve = (_value: unknown): void => {}
  const promise = new Promise<unknown>((answer) => {
    resolve = answer
  })
  return { promise, resolve }
}

export const spin = (): never => {
  for (;;) Math.sqrt(Math.random())
}

/** Runs `fn` and terminates it as the watchdog does: no catch and no finally inside it runs. */
export const terminated = (fn: () => void): void => {
  Object.assign(globalThis, { cutOff: fn })
  // On a busy machine the code may not run for some 30 ms before it loops.
  expect(() => runInThisContext('cutOff()', { timeout: 150 })).toThrow(/timed out/)
}
