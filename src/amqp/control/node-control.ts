import { randomUUID } from 'node:crypto'
import type { NodeControl } from '../../node/broker.js'
import type { Answer, Command, RevocationsMessage, SpentMessage } from '../../runtime/report/commands.js'
import { readAnswer, readControlMessage, toJson } from '../../runtime/report/messages.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { withTimeout } from '../../util/with-timeout.js'
import type { AmqpMessage } from '../connection/client.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { NODES_KEY } from '../topology/topology.js'
import { BoundQueue } from './bound-queue.js'
import { ControlPublisher } from './control-publisher.js'
import { NodeRequest } from './node-request.js'
import { SignatureCheck, sign } from './signature.js'

export interface ControlSettings {
  readonly node: string
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  warn(message: string): void
}

/** A node's side of the control exchange: consumes commands from an exclusive queue, publishes answers and events. */
export class AmqpNodeControl implements NodeControl {
  readonly #settings: ControlSettings
  readonly #signatures: SignatureCheck
  readonly #commands: BoundQueue
  readonly #publisher: ControlPublisher
  /** Correlation id of this node's own pings: distinguishes them, and the answers to them, from those of a node of the same name. */
  readonly #pingId = randomUUID()
  /** Correlation id of this node's requests to the others. */
  readonly #requestId = randomUUID()
  #request: NodeRequest | undefined
  #handler: ((command: Command) => Promise<unknown>) | undefined

  constructor(consuming: ReconnectingConnection, publishing: ReconnectingConnection, settings: ControlSettings) {
    this.#settings = settings
    this.#signatures = new SignatureCheck(settings.secret)
    const { controlExchange, eventExchange } = settings
    const failed = (error: Error): void => settings.warn(`The control exchanges cannot be used just now: ${error.message}`)
    this.#commands = new BoundQueue(consuming, {
      controlExchange,
      eventExchange,
      to: 'control',
      key: '',
      receive: (message) => void this.#received(message),
      opened: () => this.#opened(),
      failed,
    })
    this.#publisher = new ControlPublisher(publishing, { controlExchange, eventExchange, opened: () => this.#opened(), failed })
  }

  /** The queue or the publisher is open, for the first time or again. What needs both is lost the first time. */
  #opened(): void {
    this.#pingOwnName()
    this.#askAgain()
  }

  /** @internal For tests. Commands arrive: the queue is bound and consumed. */
  get listening(): boolean {
    return this.#commands.name !== undefined
  }

  /**
   * Pings its own name after each reconnect, to find another node of the same name: the later of the two gets an answer. An exclusive
   * queue named after the node cannot detect this: the broker keeps it for a while after a lost connection, so a reconnecting node would report itself.
   */
  #pingOwnName(): void {
    const replyTo = this.#commands.name
    if (replyTo === undefined) return
    const { node, secret } = this.#settings
    const body = toJson({ to: [node], command: { command: 'ping' } })
    this.#publisher.request(body, { replyTo, correlationId: this.#pingId, headers: { ...sign(secret, body), node } })
  }

  #warnOfSameName(): void {
    const { node, warn } = this.#settings
    warn(
      `Another node is named '${node}' as well: commands to that name reach both, and operators see them as one. Give each node a unique name, or omit the name to have one generated.`,
    )
  }

  onCommand(handler: (command: Command) => Promise<unknown>): void {
    this.#handler = handler
  }

  tellNodes(message: SpentMessage): void {
    const body = toJson({ to: 'all', command: message })
    this.#publisher.request(body, { headers: { ...sign(this.#settings.secret, body) } })
  }

  /** Only a node that is no longer asking answers others: RabbitMQ returns the request where there is none. */
  async askNodes(message: RevocationsMessage, receive: (answer: unknown) => void, timeout: number): Promise<void> {
    const request = new NodeRequest(message, receive, timeout)
    this.#request = request
    this.#askAgain()
    await request.over
    await withTimeout(this.#commands.bindToEvents(NODES_KEY), request.timeLeft, () => {})
  }

  /** After a reconnect too: what the other nodes were told meanwhile did not reach this one. */
  #askAgain(): void {
    const replyTo = this.#commands.name
    if (replyTo === undefined || this.#request === undefined) return
    const { node, secret } = this.#settings
    const body = toJson({ to: 'all', command: this.#request.command })
    const options = { replyTo, correlationId: this.#requestId, headers: { ...sign(secret, body), node } }
    this.#publisher.ask(body, options, (routed) => {
      if (!routed) this.#request?.end()
    })
  }

  /** An answer of another node, or this node's own request, which it receives once it answers others. */
  #receiveAnswer(content: Buffer, headers: Readonly<Record<string, unknown>>): void {
    const answer = readAnswer(content)
    if (answer === undefined) return
    if (this.#signatures.isAnswer(this.#requestId, headers, content)) this.#request?.answered(answer)
    else this.#settings.warn(`An answer of the node '${answer.node}' was refused: it is not signed with the shared secret.`)
  }

  get heard(): boolean {
    return this.#publisher.hasListeners
  }

  emit(event: FarmEvent): void {
    this.#publisher.publish(event)
  }

  async #received({ content, properties }: AmqpMessage): Promise<void> {
    // The sender of a command may listen to events: a client that begins to listen sends a command without an addressee.
    this.#publisher.listenerSeen()
    const { node } = this.#settings
    if (properties.correlationId === this.#pingId) {
      // This is the node's own ping, which it receives as well, or an answer to that ping.
      if (readAnswer(content)?.node === node) this.#warnOfSameName()
      return
    }
    if (properties.correlationId === this.#requestId) {
      this.#receiveAnswer(content, properties.headers ?? {})
      return
    }
    if (properties.headers?.node === node) this.#warnOfSameName()
    const message = readControlMessage(content)
    if (message === undefined || !(message.to === 'all' || message.to.includes(node))) return
    const answer = await this.#answer(message.command, content, properties.headers ?? {})
    const { replyTo, correlationId } = properties
    if (replyTo === undefined) return
    const body = toJson(answer)
    this.#publisher.answer({ replyTo, correlationId, body, headers: sign(this.#settings.secret, body, correlationId) })
  }

  async #answer(command: Command, body: Buffer, headers: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { node, warn } = this.#settings
    const refusal = this.#signatures.refusal(headers, body)
    if (refusal !== undefined) {
      warn(`The command '${command.command}' was refused: ${refusal}.`)
      return { node, ok: false, error: `The node refused the command: ${refusal}.` }
    }
    if (this.#handler === undefined) return { node, ok: false, error: 'The node is starting and takes no commands yet.' }
    try {
      return { node, ok: true, value: await this.#handler(command) }
    } catch (error) {
      return { node, ok: false, error: error instanceof Error ? error.message : String(error) }
    }
  }

  async close(): Promise<void> {
    this.#request?.end()
    await Promise.all([this.#commands.close(), this.#publisher.close()])
  }
}
