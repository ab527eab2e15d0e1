// Node's own: a worker, started as the pool starts it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Kind, Kind as Kinds, type WorkerConfig, type WorkerUp } from '../../src/wire/messages.js'
import { type Frame, FrameCutter, frameOf, type JobSpec, jobFrame, sentBy } from './loop-harness.js'

export const dist = fileURLToPath(new URL('../../dist', import.meta.url))
export const fixture = (name: string): string => new URL(`./fixtures/${name}`, import.meta.url).href

/** The built worker as the pool would start it, driven by hand. */
export class WorkerUnderTest {
  readonly child: ChildProcess
  readonly frames: Frame[] = []
  readonly exit: Promise<[code: number | null, signal: string | null]>
  stdout = ''
  stderr = ''
  #tasks: string[] = []
  #delivery = 0

  constructor(config: Partial<WorkerConfig> = {}, env: Record<string, string> = {}, entry = `${dist}/worker/entry.cjs`) {
    const whole: WorkerConfig = {
      id: 7,
      poolId: 'pool',
      tasks: [fixture('tasks.js')],
      concurrency: 1,
      cancelGrace: 1000,
      heartbeatInterval: 1000,
      watchdog: true,
      niceness: 0,
      killTree: true,
      output: 'inherit',
      maxMessageSize: 1 << 28,
      record: false,
      placeBytes: 0,
      measureMemory: false,
      ...config,
    }
    this.child = spawn(process.execPath, [entry, JSON.stringify(whole)], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, PREFORK_WORKER_ID: '7', ...env },
    })
    const cutter = new FrameCutter()
    this.results.on('data', (bytes: Buffer) => this.frames.push(...cutter.take(bytes)))
    this.child.stdout!.on('data', (bytes) => {
      this.stdout += bytes
    })
    this.child.stderr!.on('data', (bytes) => {
      this.stderr += bytes
    })
    for (const stream of this.child.stdio) stream?.on('error', () => {})
    this.exit = once(this.child, 'close') as Promise<[number | null, string | null]>
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  get jobs(): Writable {
    return this.child.stdio[3] as Writable
  }
  get results(): Readable {
    return this.child.stdio[4] as Readable
  }

  of(kind: Kind): Frame[] {
    return this.frames.filter((frame) => frame.kind === kind)
  }

  async until(kind: Kind, count = 1): Promise<Frame> {
    const end = performance.now() + 15_000
    while (this.of(kind).length < count) {
      if (performance.now() > end) throw new Error(`no frame ${count} of kind ${kind}; stderr: ${this.stderr}`)
      await delay(2)
    }
    return this.of(kind)[count - 1]!
  }

  async up(): Promise<this> {
    this.#tasks = (sentBy(await this.until(Kinds.WORKER_UP)) as WorkerUp).tasks.map(({ name }) => name)
    return this
  }

  frame(task: string, args: unknown[] = [], spec: JobSpec = {}): Buffer {
    this.#delivery += 1
    return jobFrame(this.#delivery, this.#tasks.indexOf(task), { args, ...spec })
  }

  /** Writes jobs in one chunk; answers with their READY frames. */
  async run(...jobs: Buffer[]): Promise<Frame[]> {
    const before = this.of(Kinds.READY).length
    this.jobs.write(Buffer.concat(jobs))
    await this.until(Kinds.READY, before + jobs.length)
    return this.of(Kinds.READY).slice(before)
  }

  async value(task: string, ...args: unknown[]): Promise<unknown> {
    return sentBy((await this.run(this.frame(task, args)))[0]!)
  }

  quit(): void {
    this.jobs.write(frameOf(Kinds.QUIT, 0))
  }
}
