/** A node of the soak, started again whenever it dies. */
import { fileURLToPath } from 'node:url'
import { execa, type Subprocess } from 'execa'
import type { Books } from './books.js'

export interface NodeFigures {
  readonly held: number
  readonly depth: number | undefined
  readonly totals: { readonly recognised: number; readonly lost: number }
  readonly rss: number
  readonly workers: readonly number[]
}

export interface Down {
  readonly clean: boolean
  readonly requeued: number
  readonly killed: number
  readonly ms: number
}

export class NodeProcess {
  readonly number: number
  readonly #options: object
  readonly #env: NodeJS.ProcessEnv
  readonly #books: Books
  #child: Subprocess | undefined
  #leaving = false
  #down: Down | undefined
  #exited: Promise<void> = Promise.resolve()
  up = false
  starts = 0
  recognised = 0
  figures: NodeFigures | undefined

  constructor(number: number, options: object, env: NodeJS.ProcessEnv, books: Books) {
    this.number = number
    this.#options = options
    this.#env = env
    this.#books = books
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Pids of its workers, as of its last word. */
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
    if (child.pid !== undefined) this.#books.nodeNumbers.set(child.pid, this.number)
    const run = async (): Promise<void> => {
      for await (const line of child) this.#said(JSON.parse(line) as { type: string })
      const { exitCode, signal, stderr } = await child
      this.up = false
      this.recognised += this.figures?.totals.recognised ?? 0
      if (this.#leaving) return
      if (signal !== 'SIGKILL') this.#books.troubles.push(`node ${this.number} ended by itself with ${signal ?? exitCode}: ${stderr.slice(-2_000)}`)
      this.start(script)
    }
    this.#exited = run()
  }

  #said(what: { type: string }): void {
    if (what.type === 'up') this.up = true
    else if (what.type === 'stats') this.figures = what as unknown as NodeFigures
    else this.#down = what as unknown as Down
  }

  kill(): boolean {
    if (!this.up || this.#child?.pid === undefined) return false
    this.up = false
    this.#books.killedNodes.set(this.#child.pid, Date.now())
    return this.#child.kill('SIGKILL')
  }

  /** Asks it to leave, and resolves with what it says of that when it has gone. */
  async leave(): Promise<Down | undefined> {
    this.#leaving = true
    this.#child?.kill('SIGTERM')
    await this.#exited
    return this.#down
  }

  /** Whatever happens. */
  end(): void {
    this.#leaving = true
    this.#child?.kill('SIGKILL')
  }
}
