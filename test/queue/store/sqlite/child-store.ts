/** A store in a process of its own, which tests kill, stop and continue. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { SqliteOptions } from '../../../../src/queue/store/sqlite/sqlite-store.js'
import type { AddedJob, Lease, NewJob, QueueState } from '../../../../src/queue/store/store.js'

type Answer = { readonly id: number; readonly value?: unknown; readonly error?: { readonly message: string; readonly code: string } }

const processFile = (name: string): string => fileURLToPath(new URL(`processes/${name}`, import.meta.url))

export const startProcess = async (name: string, args: readonly string[]): Promise<ChildProcess> => {
  const child = fork(processFile(name), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] })
  await once(child, 'message')
  return child
}

export const kill = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

export class ChildStore {
  readonly process: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #lastId = 0

  static async start(path: string, options: SqliteOptions = {}): Promise<ChildStore> {
    return new ChildStore(await startProcess('store-process.js', [path, JSON.stringify(options)]))
  }

  constructor(child: ChildProcess) {
    this.process = child
    child.on('message', (message) => {
      const { id, value, error } = message as Answer
      const waiting = this.#waiting.get(id)
      if (error === undefined) waiting?.resolve(value as never)
      else waiting?.reject(Object.assign(new Error(error.message), { code: error.code }))
    })
  }

  open(): Promise<void> {
    return this.#call('open')
  }

  openSession(info: object = {}): Promise<number> {
    return this.#call('openSession', info)
  }

  add(...jobs: readonly NewJob[]): Promise<readonly AddedJob[]> {
    return this.#call(
      'add',
      jobs.map((job) => ({ ...job, body: Buffer.from(job.body).toString() })),
    )
  }

  claim(max: number): Promise<readonly (Lease & { readonly id: string })[]> {
    return this.#call('claim', ['q'], max)
  }

  began(lease: Lease): Promise<void> {
    return this.#call('began', lease)
  }

  complete(lease: Lease): Promise<boolean> {
    return this.#call('complete', lease)
  }

  isLost(): Promise<boolean> {
    return this.#call('isLost')
  }

  queue(name: string, set: Partial<QueueState>): Promise<QueueState> {
    return this.#call('queue', name, set)
  }

  close(): Promise<void> {
    return this.#call('close')
  }

  closeSession(): Promise<void> {
    return this.#call('closeSession')
  }

  /** By process.exit() or by an exception, without an answer. */
  end(how: string): void {
    this.process.send({ id: 0, method: 'end', args: [how] })
  }

  kill(): Promise<void> {
    return kill(this.process)
  }

  #call<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.process.send({ id, method, args })
    })
  }
}
