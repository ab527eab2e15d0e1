/** A node's end of the control exchange: a queue of its own, gone with its connection, bound to the exchange that reaches all. */
import { randomUUID } from 'node:crypto'
import type { NodeControl } from '../../node/broker.js'
import type { Answer, Command } from '../../runtime/report/commands.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import type { AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { BoundQueue } from './bound-queue.js'
import { EventPublisher } from './event-publisher.js'
import { readAnswer, readControl, toJson } from './messages.js'
import { SignatureCheck, sign } from './signature.js'

export interface ControlSettings {
  readonly node: string
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  warn(message: string): void
}

export class AmqpNodeControl implements NodeControl {
  readonly #settings: ControlSettings
  readonly #check: SignatureCheck
  readonly #commands: BoundQueue
  readonly #voice: EventPublisher
  /** Tells its own questions, and the answers to them, from those of a node of the same name. */
  readonly #self = randomUUID()
  #handler: ((command: Command) => Promise<unknown>) | undefined

  constructor(consuming: SteadyConnection, publishing: SteadyConnection, settings: ControlSettings) {
    this.#settings = settings
    this.#check = new SignatureCheck(settings.secret)
    const { controlExchange, eventExchange } = settings
    const failed = (error: Error): void => settings.warn(`The control exchanges cannot be used just now: ${error.message}`)
    this.#commands = new BoundQueue(consuming, {
      controlExchange,
      eventExchange,
      to: 'control',
      key: '',
      receive: (message) => void this.#received(message),
      opened: () => this.#seekNamesakes(),
      failed,
    })
    this.#voice = new EventPublisher(publishing, { controlExchange, eventExchange, opened: () => this.#seekNamesakes(), failed })
  }

  /** The queue is bound: commands arrive. */
  get listening(): boolean {
    return this.#commands.name !== undefined
  }

  /**
   * Pings its own name, each time that it can be heard anew. Of two nodes the one that came later is sure to meet the other. Not an
   * exclusive queue of that name: it outlives a connection that was cut, and the node would take itself for another.
   */
  #seekNamesakes(): void {
    const replyTo = this.#commands.name
    if (replyTo === undefined) return
    const { node, secret } = this.#settings
    const body = toJson({ to: [node], command: { command: 'ping' } })
    this.#voice.ask(body, { replyTo, correlationId: this.#self, headers: { ...sign(secret, body), node } })
  }

  #namesake(): void {
    const { node, warn } = this.#settings
    warn(
      `Another node is named '${node}' as well: commands to that name reach both, and operators take them for one. Give each node a name of its own, or none: it then makes one up.`,
    )
  }

  onCommand(handler: (command: Command) => Promise<unknown>): void {
    this.#handler = handler
  }

  get heard(): boolean {
    return this.#voice.heard
  }

  emit(event: FarmEvent): void {
    this.#voice.publish(event)
  }

  async #received({ content, properties }: AmqpMessage): Promise<void> {
    // Whoever asks, or announces itself with a command to nobody, may listen too.
    this.#voice.listened()
    const { node } = this.#settings
    if (properties.correlationId === this.#self) {
      // Its own question, which reaches itself as well, or an answer to it.
      if (readAnswer(content)?.node === node) this.#namesake()
      return
    }
    if (properties.headers?.node === node) this.#namesake()
    const message = readControl(content)
    if (message === undefined || !(message.to === 'all' || message.to.includes(node))) return
    const answer = await this.#answer(message.command, content, properties.headers ?? {})
    if (properties.replyTo !== undefined) this.#voice.answer(properties.replyTo, toJson(answer), properties.correlationId)
  }

  async #answer(command: Command, body: Buffer, headers: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { node, warn } = this.#settings
    const refusal = this.#check.refusal(headers, body)
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
    await Promise.all([this.#commands.close(), this.#voice.close()])
  }
}
