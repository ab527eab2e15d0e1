import { randomUUID } from 'node:crypto'
import type { NodeControl } from '../../node/broker.js'
import type { Answer, Command } from '../../runtime/report/commands.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import type { AmqpMessage } from '../connection/client.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { BoundQueue } from './bound-queue.js'
import { ControlPublisher } from './control-publisher.js'
import { readAnswer, readControlMessage, toJson } from './messages.js'
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
      opened: () => this.#pingOwnName(),
      failed,
    })
    this.#publisher = new ControlPublisher(publishing, { controlExchange, eventExchange, opened: () => this.#pingOwnName(), failed })
  }

  /** @internal For tests. Commands arrive: the queue is bound and consumed. */
  get listening(): boolean {
    return this.#commands.name !== undefined
  }

  /**
   * Pings its own name after each reconnect, to find another node of the same name: the later of the two gets an answer. An exclusive
   * queue of that name would not do: it survives a lost connection for a while, and the node would find itself.
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

  get heard(): boolean {
    return this.#publisher.hasListeners
  }

  emit(event: FarmEvent): void {
    this.#publisher.publish(event)
  }

  async #received({ content, properties }: AmqpMessage): Promise<void> {
    // The sender of a command may listen to events. A client that begins to listen sends a command without an addressee.
    this.#publisher.listenerSeen()
    const { node } = this.#settings
    if (properties.correlationId === this.#pingId) {
      // Its own ping, which this node receives as well, or an answer to it.
      if (readAnswer(content)?.node === node) this.#warnOfSameName()
      return
    }
    if (properties.headers?.node === node) this.#warnOfSameName()
    const message = readControlMessage(content)
    if (message === undefined || !(message.to === 'all' || message.to.includes(node))) return
    const answer = await this.#answer(message.command, content, properties.headers ?? {})
    const { replyTo, correlationId } = properties
    if (replyTo !== undefined) this.#publisher.answer({ replyTo, correlationId, body: toJson(answer) })
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
    await Promise.all([this.#commands.close(), this.#publisher.close()])
  }
}
