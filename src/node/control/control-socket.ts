import type { Answer, Command, RevocationsMessage, SpentMessage } from '../../runtime/report/commands.js'
import { type ControlMessage, toJson, writeEvents } from '../../runtime/report/messages.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { withTimeout } from '../../util/with-timeout.js'
import type { NodeControl } from '../broker.js'
import { askNodes } from './socket-connection.js'
import { type SocketFile, SocketFolder } from './socket-folder.js'
import { SocketServer } from './socket-server.js'

/** ms that an event may wait for others in its batch. */
const BATCH_DELAY = 50
/** Events in one line at most. */
const MAX_EVENTS = 500
/** ms that another node has to answer this one. */
const ANSWER_TIMEOUT = 10_000

/**
 * A node's side of control for a broker without an exchange: a unix socket beside the file that the nodes share, which answers commands and sends
 * events. Until `open`, or where no socket can be made, the node is alone, and takes commands of its own process only.
 */
export class ControlSocket implements NodeControl {
  readonly #node: string
  readonly #warn: (message: string) => void
  readonly #server: SocketServer
  readonly #closed = new AbortController()
  #folder: SocketFolder | undefined
  #file: SocketFile | undefined
  #handler: ((command: Command) => Promise<unknown>) | undefined
  #batch: FarmEvent[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(node: string, warn: (message: string) => void) {
    this.#node = node
    this.#warn = warn
    this.#server = new SocketServer({
      node,
      answer: (message) => this.#answer(message),
      failed: (error) => warn(`The control socket has refused a connection: ${error.message}`),
    })
  }

  /** Listens beside `file`, a real path. Without a socket the node goes on, and says so. */
  async open(file: string): Promise<void> {
    const folder = new SocketFolder(file)
    try {
      this.#file = await this.#server.listen(folder)
      this.#folder = folder
    } catch (error) {
      this.#warn(`Neither commands nor other nodes reach this node, as it has no control socket: ${(error as Error).message}`)
    }
    // It was closed meanwhile.
    if (this.#closed.signal.aborted) await this.#end()
  }

  onCommand(handler: (command: Command) => Promise<unknown>): void {
    this.#handler = handler
  }

  /** A command of this process. */
  async command(command: Command): Promise<unknown> {
    return await this.#handler?.(command)
  }

  async #answer({ to, command }: ControlMessage): Promise<Answer | undefined> {
    const node = this.#node
    if (to !== 'all' && !to.includes(node)) return undefined
    if (this.#handler === undefined) return { node, ok: false, error: 'The node is starting and takes no commands yet.' }
    try {
      return { node, ok: true, value: await this.#handler(command) }
    } catch (error) {
      return { node, ok: false, error: error instanceof Error ? error.message : String(error) }
    }
  }

  tellNodes(message: SpentMessage): void {
    void this.#askOthers(message, () => {})
  }

  async askNodes(message: RevocationsMessage, receive: (answer: unknown) => void, timeout: number): Promise<void> {
    const answered = this.#askOthers(message, (answer) => {
      if (answer.node === this.#node) this.#warnOfSameName()
      if (answer.ok) receive(answer.value)
    })
    await withTimeout(answered, timeout, () => {})
  }

  async #askOthers(message: SpentMessage | RevocationsMessage, receive: (answer: Answer) => void): Promise<void> {
    if (this.#folder === undefined) return
    // Not AbortSignal.any of AbortSignal.timeout: in Node 20 the garbage collector takes that timeout, and it never ends.
    const end = new AbortController()
    const abort = (): void => end.abort()
    this.#closed.signal.addEventListener('abort', abort, { once: true })
    const timer = setTimeout(abort, ANSWER_TIMEOUT)
    try {
      await askNodes(this.#folder, toJson({ to: 'all', command: message }), { signal: end.signal, except: this.#file?.entry }, receive)
    } catch {
      // Best effort: a node that cannot be asked has no answer.
    } finally {
      clearTimeout(timer)
      this.#closed.signal.removeEventListener('abort', abort)
    }
  }

  #warnOfSameName(): void {
    this.#warn(
      `Another node is named '${this.#node}' as well: commands to that name reach both, and operators see them as one. Give each node a unique name, or omit the name to have one generated.`,
    )
  }

  get heard(): boolean {
    return this.#server.hasListeners
  }

  emit(event: FarmEvent): void {
    if (!this.heard) return
    this.#batch.push(event)
    if (this.#batch.length >= MAX_EVENTS) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_DELAY)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#batch
    this.#batch = []
    if (events.length > 0 && this.heard) this.#server.sendToListeners(`${writeEvents(events)}\n`)
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#flush()
    await this.#end()
  }

  async #end(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    // First: nobody finds it any more.
    if (file !== undefined) await this.#folder?.remove(file)
    await this.#server.close()
  }
}
