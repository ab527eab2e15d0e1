// A worker process as its pool would start it, with `main.ts` for a main thread, and the host's end of its three pipes.
// Node's own: a worker, started as the pool starts it.
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build, stop } from 'esbuild'
import { encode } from '../../../src/wire/codec/index.js'
import { FIXED_BYTES, FRAME_HEAD } from '../../../src/wire/frame.js'
import { frameReader } from '../../../src/wire/frame-reader.js'
import { Kind, type WorkerConfig } from '../../../src/wire/messages.js'

/** The Node that runs the workers: the matrix is tried by hand with PREFORK_TEST_NODE=/path/to/node. */
const node = process.env.PREFORK_TEST_NODE ?? process.execPath
const here = fileURLToPath(new URL('.', import.meta.url))

export interface Frame {
  kind: number
  flags: number
  delivery: number
  job: number
  payload: Buffer
  /** ms since the worker was started. */
  at: number
}

export type Event = { event: string; delivery?: number; [key: string]: unknown }

/** Bundles main thread and watchdog as scripts/build.js does; the tasks lie outside, as a user's do. */
export const bundle = async (): Promise<string> => {
  // With characters that Node escapes in the URL of an ES module, but not in that of a CommonJS file.
  const folder = mkdtempSync(join(tmpdir(), 'prefork-watchdog-[~]-'))
  const common = {
    outdir: join(folder, 'dist'),
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
  } satisfies BuildOptions
  await build({
    ...common,
    entryPoints: { 'worker/entry': join(here, 'main.ts') },
    define: { 'import.meta.url': '__url' },
    banner: { js: "'use strict'; const __url = require('node:url').pathToFileURL(__filename).href;" },
  })
  await build({ ...common, entryPoints: { 'worker/watchdog': join(here, '../../../src/worker/watchdog/thread.ts') } })
  // It would live as long as this process, which other suites share.
  await stop()
  for (const file of ['tasks.js', 'spins.cjs']) cpSync(join(here, file), join(folder, file))
  cpSync(join(here, 'tasks.js'), join(folder, 'tasks.mjs'))
  return folder
}

export interface Options extends Partial<WorkerConfig> {
  /** ms of a busy loop while the worker starts. */
  starting?: number
  env?: NodeJS.ProcessEnv
  execArgv?: string[]
}

export class TestWorker {
  readonly child: ChildProcess
  readonly frames: Frame[] = []
  readonly events: Event[] = []
  readonly started = performance.now()
  readonly exit: Promise<{ code: number | null; signal: string | null }>
  readonly #waiting = new Set<() => void>()
  readonly #cancelGrace: number
  #delivery = 0

  constructor(folder: string, { starting = 0, env, execArgv = [], ...config }: Options = {}) {
    const full = {
      id: 1,
      poolId: 'test',
      tasks: [],
      concurrency: 1,
      cancelGrace: 500,
      heartbeatInterval: 100,
      watchdog: true,
      niceness: 0,
      killTree: true,
      output: 'inherit',
      maxMessageSize: 1 << 28,
      record: false,
      placeBytes: 0,
      measureMemory: false,
      ...config,
    } satisfies WorkerConfig
    this.#cancelGrace = full.cancelGrace
    const argument = JSON.stringify({ config: full, tasks: pathToFileURL(join(folder, 'tasks.mjs')).href, starting })
    this.child = spawn(node, [...execArgv, join(folder, 'dist/worker/entry.cjs'), argument], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe'],
      detached: true,
      env: env ?? process.env,
    })
    this.exit = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve({ code, signal })))
    const reader = frameReader((bytes, start, end) => this.#frame(bytes, start, end), 1 << 28)
    reader.next()
    this.lifeline.on('data', (chunk: Buffer) => reader.next(chunk)).on('error', () => {})
    this.jobs.on('error', () => {})
    createInterface({ input: this.child.stdio[4] as Socket }).on('line', (line) => {
      this.events.push(JSON.parse(line) as Event)
      this.#changed()
    })
  }

  /** ms since it was started, as in `Frame.at`. */
  get age(): number {
    return performance.now() - this.started
  }

  get lifeline(): Socket {
    return (this.child.stdio as unknown[])[5] as Socket
  }

  get jobs(): Socket {
    return this.child.stdio[3] as Socket
  }

  /** Sends a job; returns its delivery. */
  run(task: string, { soft = 0, hard = 0, slot = 0, ...rest }: { soft?: number; hard?: number; slot?: number; wake?: boolean; blocked?: number } = {}): number {
    const delivery = ++this.#delivery
    this.jobs.write(`${JSON.stringify({ slot, delivery, task, soft, hard, ...rest })}\n`)
    return delivery
  }

  /** `interruptFor`: ms. */
  cancel(delivery: number, upTo: number, reason: unknown, interruptFor = this.#cancelGrace): void {
    const { body, binaries } = encode(reason, 8)
    body.writeUInt32LE(upTo, 0)
    body.writeUInt32LE(interruptFor, 4)
    this.send(Kind.CANCEL, delivery, 7, Buffer.concat([body, ...binaries]))
  }

  send(kind: number, delivery = 0, job = 0, payload = Buffer.alloc(0)): void {
    const frame = Buffer.alloc(FRAME_HEAD)
    frame.writeUInt32LE(FIXED_BYTES + payload.length, 0)
    frame[4] = kind
    frame.writeUInt32LE(delivery, 8)
    frame.writeDoubleLE(job, 12)
    this.lifeline.write(Buffer.concat([frame, payload]))
  }

  /** The first frame of the kind (and stage) for the delivery, once it is there. */
  frame(kind: number, match: Partial<Frame> = {}, within = 20_000): Promise<Frame> {
    const find = () => this.frames.find((frame) => frame.kind === kind && Object.entries(match).every(([key, value]) => frame[key as keyof Frame] === value))
    return this.#until(find, within, `frame ${kind} ${JSON.stringify(match)}`)
  }

  event(event: string, delivery?: number, within = 20_000): Promise<Event> {
    const find = () => this.events.find((one) => one.event === event && (delivery === undefined || one.delivery === delivery))
    return this.#until(find, within, `event ${event} of ${delivery}`)
  }

  /** Runs a job to its end and returns its value. */
  async value(task: string, options: Parameters<TestWorker['run']>[1] = {}): Promise<unknown> {
    const delivery = this.run(task, options)
    return (await this.event('done', delivery)).value
  }

  kill(): void {
    try {
      process.kill(-this.child.pid!, 'SIGKILL')
    } catch {}
  }

  async #until<T>(find: () => T | undefined, within: number, what: string): Promise<T> {
    const found = find()
    if (found !== undefined) return found
    return await new Promise<T>((resolve, reject) => {
      const look = () => {
        const found = find()
        if (found === undefined) return
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve(found)
      }
      const timer = setTimeout(() => {
        const { exitCode, signalCode } = this.child
        const seen = this.frames.filter(({ kind }) => kind !== Kind.HEARTBEAT).map(({ kind, flags, delivery }) => [kind, flags, delivery])
        reject(new Error(`No ${what} in ${within} ms; exit ${exitCode} ${signalCode}; events ${JSON.stringify(this.events)}; frames ${JSON.stringify(seen)}`))
      }, within)
      this.#waiting.add(look)
    })
  }

  #frame(bytes: Buffer, start: number, end: number): void {
    this.frames.push({
      kind: bytes[start]!,
      flags: bytes[start + 1]!,
      delivery: bytes.readUInt32LE(start + 4),
      job: bytes.readDoubleLE(start + 8),
      payload: bytes.subarray(start + FIXED_BYTES, end),
      at: performance.now() - this.started,
    })
    this.#changed()
  }

  #changed(): void {
    for (const look of this.#waiting) look()
  }
}
