/** A node's end of the control exchange: a queue of its own, gone with its connection, bound to the exchange that reaches all. */
import type { Answer, Command } from '../../../runtime/commands.js'
import type { FarmEvent } from '../../../runtime/report.js'
import type { NodeControl } from '../../broker.js'
import { SteadyChannel } from '../connection/channel.js'
import type { AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { declareExchanges } from '../topology/topology.js'
import { readControl, toJson } from './messages.js'
import { SealCheck } from './seal.js'
import { Voice } from './voice.js'

export interface ControlSettings {
  readonly node: string
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  warn(message: string): void
}

/** ms between two looks at the binding: an exchange that was deleted takes it along, and tells nobody. */
const REBIND = 5_000

export class AmqpNodeControl implements NodeControl {
  readonly #settings: ControlSettings
  readonly #check: SealCheck
  readonly #commands: SteadyChannel
  readonly #voice: Voice
  #queue = ''
  /** Looks, from time to time, whether commands still arrive. */
  readonly #binding: NodeJS.Timeout
  #handler: ((command: Command) => Promise<unknown>) | undefined

  constructor(consuming: SteadyConnection, publishing: SteadyConnection, settings: ControlSettings) {
    this.#settings = settings
    this.#check = new SealCheck(settings.secret)
    const { controlExchange, eventExchange } = settings
    const failed = (error: Error): void => settings.warn(`The control exchanges cannot be used just now: ${error.message}`)
    this.#commands = new SteadyChannel(consuming, {
      confirm: false,
      setup: async (channel) => {
        await declareExchanges(channel, controlExchange, eventExchange)
        const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true, durable: false })
        this.#queue = queue
        await channel.bindQueue(queue, controlExchange, '')
        await channel.consume(
          queue,
          (message) => {
            if (message === null) void channel.close().catch(() => {})
            else void this.#received(message)
          },
          { noAck: true },
        )
      },
      failed,
    })
    this.#voice = new Voice(publishing, { controlExchange, eventExchange, failed })
    this.#binding = setInterval(() => void this.#rebind(), REBIND).unref()
  }

  /** What is there already stays as it is. */
  async #rebind(): Promise<void> {
    const { channel } = this.#commands
    if (channel === undefined) return
    const { controlExchange, eventExchange } = this.#settings
    try {
      await declareExchanges(channel, controlExchange, eventExchange)
      await channel.bindQueue(this.#queue, controlExchange, '')
    } catch {
      // The broker has closed the channel over it: the next one makes both, or says why it cannot.
    }
  }

  /** The queue is bound: commands arrive. */
  get listening(): boolean {
    return this.#commands.channel !== undefined
  }

  onCommand(handler: (command: Command) => Promise<unknown>): void {
    this.#handler = handler
  }

  emit(event: FarmEvent): void {
    this.#voice.tell(event)
  }

  async #received({ content, properties }: AmqpMessage): Promise<void> {
    // Whoever asks, or announces itself with a command to nobody, may listen too.
    this.#voice.listened()
    const message = readControl(content)
    const { node } = this.#settings
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
    clearInterval(this.#binding)
    await Promise.all([this.#commands.close(), this.#voice.close()])
  }
}
