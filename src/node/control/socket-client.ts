import type { Address, Answer, Command } from '../../runtime/report/commands.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { OptionError } from '../../util/checks.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { notify } from '../../util/notify.js'
import type { ControlClient } from '../broker.js'
import { AnswerQueue, type ControlRequest, readControlRequest } from './request.js'
import { askNodes, ControlError, MAX_REQUEST } from './socket-connection.js'
import { SocketFolder } from './socket-folder.js'
import { SocketListener } from './socket-listener.js'

const closedError = (call: string): ControlError => new ControlError(`${call} is refused: the control client is closed.`)

const unreachable = (file: string, cause: NodeJS.ErrnoException): ControlError => {
  const why = cause.code === 'EACCES' || cause.code === 'EPERM' ? 'they belong to another user' : cause.message
  return new ControlError(`The nodes at ${file} cannot be asked: ${why}.`, { cause })
}

/** An operator's side of the control sockets of the nodes that share a file. */
export class SocketControlClient implements ControlClient {
  readonly #file: string
  readonly #folder: SocketFolder
  /** Ends each request that is under way. */
  readonly #requests = new Set<AbortController>()
  readonly #listeners = new Set<SocketListener>()
  #isClosed = false

  /** `file`: a real path. */
  constructor(file: string) {
    this.#file = file
    this.#folder = new SocketFolder(file)
  }

  /**
   * It ends also when every node that is there has answered: their number is known. At the end of the time it returns how many have not: their names are
   * not known.
   */
  ask(to: Address, command: Command, options?: { timeout?: number }): AsyncIterableIterator<Answer> {
    const request = readControlRequest(to, command, options)
    const { length } = request.body
    if (length > MAX_REQUEST)
      throw new OptionError('command', `must have at most ${MAX_REQUEST} bytes of JSON, together with the names of nodes; it has ${length}`)
    return this.#ask(request)
  }

  async *#ask({ to, body, timeout }: ControlRequest): AsyncIterableIterator<Answer> {
    if (this.#isClosed) throw closedError('ask')
    const outstanding = to === 'all' ? undefined : new Set(to)
    if (outstanding?.size === 0) return
    const answers = new AnswerQueue()
    const end = new AbortController()
    // The connections end here, too: the caller may not come back for more answers.
    end.signal.addEventListener('abort', () => answers.push(undefined), { once: true })
    this.#requests.add(end)
    const silent = new Set<string>()
    let late = 0
    const timer = setTimeout(() => {
      late = silent.size
      end.abort()
    }, timeout)
    this.#askAll(body, { signal: end.signal, silent }, answers).catch((error: NodeJS.ErrnoException) => answers.push(unreachable(this.#file, error)))
    try {
      for (let answer = await answers.next(); answer !== undefined; answer = await answers.next()) {
        yield answer
        outstanding?.delete(answer.node)
        if (outstanding?.size === 0) return
      }
      return late
    } finally {
      clearTimeout(timer)
      end.abort()
      this.#requests.delete(end)
    }
  }

  async #askAll(body: Buffer, waiting: { signal: AbortSignal; silent: Set<string> }, answers: AnswerQueue): Promise<void> {
    let hasAnswer = false
    const [error] = await askNodes(this.#folder, body, waiting, (answer) => {
      hasAnswer = true
      answers.push(answer)
    })
    answers.push(error === undefined || hasAnswer ? undefined : unreachable(this.#file, error))
  }

  async listen(listener: (event: FarmEvent) => void): Promise<() => Promise<void>> {
    if (typeof listener !== 'function') throw new TypeError('client.listen(listener): the listener must be a function.')
    if (this.#isClosed) throw closedError('listen')
    const events = new SocketListener(this.#folder, (event) => notify(listener, event))
    this.#listeners.add(events)
    const stop = (): void => {
      this.#listeners.delete(events)
      events.stop()
    }
    try {
      await events.start()
    } catch (error) {
      stop()
      throw unreachable(this.#file, error as NodeJS.ErrnoException)
    }
    return async () => stop()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const request of this.#requests) request.abort()
    for (const each of this.#listeners) each.stop()
  }
}
