/** A node of the soak in its own process. It is started again each time it dies. */
import { fileURLToPath } from 'node:url'
import { execa, type Subprocess } from 'execa'
import type { SoakRecord } from './record.js'

export interface NodeFigures {
  readonly held: number
  readonly depth: number | undefined
  readonly totals: { readonly recognised: number; readonly lost: number }
  readonly rss: number
  readonly workers: readonly number[]
}

export interface ShutdownResult {
  readonly clean: boolean
  readonly requeued: number
  readonly killed: number
  readonly ms: number
}

export class NodeProcess {
  readonly number: number
  readonly #options: object
  readonly #env: NodeJS.ProcessEnv
  readonly #record: SoakRecord
  #child: Subprocess | undefined
  #stopping = false
  #result: ShutdownResult | undefined
  #exited: Promise<void> = Promise.resolve()
  up = false
  starts = 0
  recognised = 0
  figures: NodeFigures | undefined

  constructor(number: number, options: object, env: NodeJS.ProcessEnv, record: SoakRecord) {
    this.number = number
    this.#options = options
    this.#env = env
    this.#record = record
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Pids of its workers, from its last report. */
  get workers(): readonly number[] {
    return this.figures?.workers ?? []
  }

  start(script = fileURLToPath(new URL('../../test/farm-soak/node.js', import.meta.url))): void {
    this.starts++
    this.up = false
    this.figures = undefined
    const argument = JSON.stringify({ ...this.#options, name: `soak-${this.number}-${this.starts}` })
    const child = execa(process.execPath, [script, argument], {
      stdin: 'ignore',
      env: this.#env,
      reject: false,
      buffer: { stdout: false },
      killSignal: 'SIGKILL',
    })
    this.#child = child
    if (child.pid !== undefined) this.#record.nodeNumbers.set(child.pid, this.number)
    const run = async (): Promise<void> => {
      for await (const line of child) this.#receive(JSON.parse(line) as { type: string })
      const { exitCode, signal, stderr } = await child
      this.up = false
      this.recognised += this.figures?.totals.recognised ?? 0
      if (this.#stopping) return
      if (signal !== 'SIGKILL') this.#record.errors.push(`node ${this.number} ended by itself with ${signal ?? exitCode}: ${stderr.slice(-2_000)}`)
      this.start(script)
    }
    this.#exited = run()
  }

  #receive(message: { type: string }): void {
    if (message.type === 'up') this.up = true
    else if (message.type === 'stats') this.figures = message as unknown as NodeFigures
    else this.#result = message as unknown as ShutdownResult
  }

  kill(): boolean {
    if (!this.up || this.#child?.pid === undefined) return false
    this.up = false
    this.#record.killedNodes.set(this.#child.pid, Date.now())
    return this.#child.kill('SIGKILL')
  }

  /** Sends SIGTERM, and resolves with the node's report when the process has exited. */
  async shutdown(): Promise<ShutdownResult | undefined> {
    this.#stopping = true
    this.#child?.kill('SIGTERM')
    await this.#exited
    return this.#result
  }

  /** Kills the process. It is not started again. */
  terminate(): void {
    this.#stopping = true
    this.#child?.kill('SIGKILL')
  }
}
