import { setMaxListeners } from 'node:events'
import { rmSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { microtask, setImmediate } from '../../../util/node-time.js'
import { notify } from '../../../util/notify.js'
import { ownFile } from '../../../util/own-files.js'
import { StoreError, type StoreErrorCode, storeClosed } from '../errors.js'
import type { Lease, StoreCondition, StoreEvent } from '../store.js'
import { answersOf, type Failure, type Operation, type PackedCompletion, packRequest, type Request, type ThreadData, type ToHost } from './protocol.js'

/** The variables that `os.tmpdir()` reads. One that is not set is left out: a thread would get the text 'undefined'. */
const temporaryFolder = (): NodeJS.ProcessEnv =>
  Object.fromEntries(['TMPDIR', 'TMP', 'TEMP'].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])))

const BUILT_IN: Readonly<Record<string, new (message: string) => Error>> = { RangeError, TypeError }

const errorOf = ({ name, message, code }: Failure): Error =>
  code === undefined ? new (BUILT_IN[name] ?? Error)(message) : new StoreError(code as StoreErrorCode, message)

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** What a session on the thread is told. */
export interface SessionEvents {
  wake(): void
  cancelled(lease: Lease): void
  settingsChanged(): void
  lose(): void
}

/** The threads of this process, by the real path of their file. */
const threads = new Map<string, StoreThreadLink>()

/** The host's side of the thread that has the connection to a file. All stores of this process on one file share it. */
export class StoreThreadLink {
  readonly sessions = new Map<number, SessionEvents>()
  readonly #path: string
  readonly #worker: Worker
  readonly #opened: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Set<(event: StoreEvent) => void>()
  readonly #conditionListeners = new Set<(condition: StoreCondition, error?: Error) => void>()
  #outgoing: (Request | PackedCompletion | undefined)[] = []
  /** Places in `#outgoing` of the beginnings that nobody waits for, by their jobs. */
  readonly #beginnings = new Map<number, number>()
  #lastId = 0
  #users = 0
  #socket: string | undefined
  #failed: Error | undefined
  #closed: Promise<void> | undefined
  /** The socket of a session that is still there is left: nobody listens on it then, which shows others that the session is dead. */
  readonly #onExit = (): void => {
    if (this.#socket !== undefined && this.sessions.size === 0 && this.#listeners.size === 0) rmSync(this.#socket, { force: true })
  }

  /** The thread of a file, which is started for its first user. Rejects with StoreError when the file cannot be used. */
  static async of(data: ThreadData): Promise<StoreThreadLink> {
    let link = threads.get(data.path)
    // Its last user is about to leave.
    for (; link !== undefined && link.#closed !== undefined; link = threads.get(data.path)) await link.#closed
    if (link === undefined) {
      link = new StoreThreadLink(data)
      threads.set(data.path, link)
    }
    link.#users++
    try {
      await link.#opened
    } catch (error) {
      link.#leave()
      throw error
    }
    return link
  }

  private constructor(data: ThreadData) {
    this.#path = data.path
    this.#worker = new Worker(ownFile('queue/store-thread.cjs'), {
      name: 'prefork store',
      workerData: data,
      // The user's --require, --import and NODE_OPTIONS are not this thread's.
      execArgv: [],
      env: temporaryFolder(),
      stdin: false,
      trackUnmanagedFds: false,
    })
    setMaxListeners(0, this.#worker)
    process.on('exit', this.#onExit)
    this.#opened = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: ToHost) => {
        if (message.opened === true) resolve()
        else if (message.opened !== undefined) reject(errorOf(message.opened))
        else this.#receive(message)
        this.#keepAlive()
      })
      this.#worker.on('error', (error) => reject(this.#fail(error)))
      this.#worker.on('exit', () => reject(this.#fail(undefined)))
    })
    this.#opened.catch(() => {})
  }

  /** Resolves with the answer, after the commit where something changes. */
  request<T>(operation: Operation): Promise<T> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed)
    return new Promise<T>((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      if (this.#waiting.size === 1) this.#worker.ref()
      this.#send({ id, operation })
    })
  }

  /** Without an answer. */
  post(operation: Operation): void {
    if (this.#failed === undefined) this.#send({ id: 0, operation })
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    if (this.#listeners.size === 0) this.post({ op: 'watch', on: true })
    const own = (event: StoreEvent): void => listener(event)
    this.#listeners.add(own)
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.post({ op: 'watch', on: false })
    }
  }

  onCondition(listener: (condition: StoreCondition, error?: Error) => void): () => void {
    const own = (condition: StoreCondition, error?: Error): void => listener(condition, error)
    this.#conditionListeners.add(own)
    return () => this.#conditionListeners.delete(own)
  }

  addSession(id: number, events: SessionEvents): void {
    this.sessions.set(id, events)
    this.#keepAlive()
  }

  removeSession(id: number): void {
    this.sessions.delete(id)
    this.#keepAlive()
  }

  /** One user less. The last one ends the thread. */
  async release(): Promise<void> {
    this.#users--
    if (this.#users > 0) return
    this.#closed = this.#end()
    await this.#closed
  }

  async #end(): Promise<void> {
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve))
    if (this.#failed === undefined) {
      this.#worker.ref()
      await this.request({ op: 'close' }).catch(() => {})
      await exited
    }
    this.#leave()
  }

  /** Whoever opens the file from now on gets another thread. */
  #leave(): void {
    process.off('exit', this.#onExit)
    if (threads.get(this.#path) === this) threads.delete(this.#path)
  }

  /** What is asked in one turn goes as one message. While the thread is at work already, what other callbacks of this turn ask may join it. */
  #send(request: Request): void {
    this.#dropBeginning(request)
    this.#outgoing.push(packRequest(request))
    if (this.#outgoing.length > 1) return
    if (this.#waiting.size > 1) setImmediate(() => this.#flush())
    else microtask(() => this.#flush())
  }

  /** A job that is settled in the same message has no use for its beginning, unless somebody waits for that. Most jobs without work are. */
  #dropBeginning({ id, operation }: Request): void {
    if (operation.op === 'began') {
      if (id === 0) this.#beginnings.set(operation.lease.seq, this.#outgoing.length)
    } else if (operation.op === 'settle') {
      const at = this.#beginnings.get(operation.lease.seq)
      if (at === undefined) return
      const { operation: begun } = this.#outgoing[at] as Request
      if (begun.op === 'began' && begun.lease.token === operation.lease.token) this.#outgoing[at] = undefined
      this.#beginnings.delete(operation.lease.seq)
    }
  }

  #flush(): void {
    const requests = this.#outgoing.filter((request) => request !== undefined)
    this.#outgoing = []
    this.#beginnings.clear()
    this.#worker.postMessage(requests)
  }

  #receive(message: ToHost): void {
    this.#socket = message.socket ?? this.#socket
    // Before the answers: who gets one may ask whether its session lives.
    for (const id of message.lost ?? []) {
      this.sessions.get(id)?.lose()
      this.sessions.delete(id)
    }
    for (const [id, value] of answersOf(message)) this.#take(id)?.resolve(value as never)
    for (const [id, failure] of message.failures ?? []) this.#take(id)?.reject(errorOf(failure))
    for (const { condition, failure } of message.conditions ?? []) this.#onCondition(condition, failure)
    for (const event of message.events ?? []) for (const listener of this.#listeners) notify(listener, event)
    // After the answers: a claim that is cancelled is known by then.
    if (message.cancels?.length) setImmediate(() => this.#cancel(message.cancels!))
    if (message.settings === true) for (const session of [...this.sessions.values()]) session.settingsChanged()
    if (message.work === true) for (const session of [...this.sessions.values()]) session.wake()
  }

  #cancel(cancels: NonNullable<ToHost['cancels']>): void {
    for (const { session, lease } of cancels) this.sessions.get(session)?.cancelled(lease)
  }

  #onCondition(condition: StoreCondition, failure: Failure | undefined): void {
    for (const listener of this.#conditionListeners) notify(listener, condition, failure === undefined ? undefined : errorOf(failure))
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  /** A store that has nothing to do does not keep its process alive, unless it claims. */
  #keepAlive(): void {
    if (this.#waiting.size > 0 || this.sessions.size > 0 || this.#closed !== undefined) this.#worker.ref()
    else this.#worker.unref()
  }

  /** The thread has ended. */
  #fail(cause: unknown): Error {
    if (this.#failed !== undefined) return this.#failed
    const error = cause === undefined ? storeClosed() : new StoreError('ERR_PREFORK_STORE_CLOSED', `The thread of the store failed: ${cause}`, { cause })
    this.#failed = error
    this.#leave()
    for (const session of this.sessions.values()) session.lose()
    this.sessions.clear()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    return error
  }
}
