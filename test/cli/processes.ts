/** The built command line as processes, with queues and exchanges of their own. */
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { execa, type ResultPromise } from 'execa'
import { afterAll } from 'vitest'
import { newName, RABBITMQ_URL, removeQueues, until } from '../amqp/rabbit.js'

export const PREFORK = fileURLToPath(new URL('../../dist/cli/prefork.js', import.meta.url))
export const TASKS = fileURLToPath(new URL('./farm-tasks.js', import.meta.url))

export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

export interface Ended {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

const OPTIONS = { extendEnv: false, reject: false, buffer: false, killSignal: 'SIGKILL' } as const

/** A running `prefork`, and its output so far. */
export class Prefork {
  stdout = ''
  stderr = ''
  readonly ended: Promise<Ended>

  constructor(readonly process: ResultPromise<typeof OPTIONS>) {
    process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = process.then(({ exitCode }) => ({ code: exitCode, stdout: this.stdout, stderr: this.stderr }))
  }

  /** Waits until it has said this; in a terminal: the text without colors and moves. */
  async says(text: string | RegExp): Promise<void> {
    const output = (): string => stripVTControlCharacters(this.stdout)
    const said = (): boolean => (typeof text === 'string' ? output().includes(text) : text.test(output()))
    await until(`prefork says ${text}; it said: ${output()} ${this.stderr}`, () => said() || this.process.exitCode !== null || this.process.signalCode !== null)
    if (!said()) throw new Error(`prefork ended (${this.process.exitCode ?? this.process.signalCode}) without saying ${text}: ${output()} ${this.stderr}`)
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.process.kill(signal)
    return await this.ended
  }
}

/** Queues and exchanges with random names. They are deleted afterwards, and all processes are killed. */
export const ownNames = () => {
  const queue = newName()
  const env = {
    PATH: process.env.PATH,
    RABBITMQ_URL,
    ASYNC_FARM_JOBS_QUEUE: queue,
    ASYNC_FARM_CONTROL_EXCHANGE: `${queue}.control`,
    ASYNC_FARM_WORKER_EXCHANGE: `${queue}.events`,
  }
  const started: Prefork[] = []
  const start = (typed: readonly string[], more: NodeJS.ProcessEnv = {}, command: readonly string[] = [PREFORK]): Prefork => {
    const [file, ...before] = command as [string, ...string[]]
    const prefork = new Prefork(execa(file, [...before, ...typed], { ...OPTIONS, env: { ...env, ...more } }))
    started.push(prefork)
    return prefork
  }
  afterAll(async () => {
    for (const { process } of started) process.kill()
    await Promise.all(started.map((each) => each.ended))
    await removeQueues([queue], [env.ASYNC_FARM_CONTROL_EXCHANGE, env.ASYNC_FARM_WORKER_EXCHANGE])
  })
  return {
    queue,
    env,
    start,
    run: (...typed: string[]): Promise<Ended> => start(typed).ended,
    /** A node that is up. */
    async work(...typed: string[]): Promise<Prefork> {
      const node = start(['work', '--tasks', TASKS, '--workers', '1', ...typed])
      await node.says('"msg":"node up"')
      return node
    },
    /** `prefork` in a terminal of 80x24, by util-linux's `script`. */
    inTerminal: (...typed: string[]): Prefork =>
      start([], { TERM: 'xterm' }, ['script', '-qfec', `stty rows 24 cols 80; exec ${[PREFORK, ...typed].map((each) => `'${each}'`).join(' ')}`, '/dev/null']),
  }
}
