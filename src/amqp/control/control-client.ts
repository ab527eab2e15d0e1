import { randomUUID } from 'node:crypto'
import type { ControlClient } from '../../node/broker.js'
import { AnswerQueue, type ControlRequest, readControlRequest } from '../../node/control/request.js'
import type { Address, Answer, Command } from '../../runtime/report/commands.js'
import { readAnswer, readEvents, toJson } from '../../runtime/report/messages.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { plainObject } from '../../util/checks.js'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { notify } from '../../util/notify.js'
import { type OptionTable, readOptions } from '../../util/option-table.js'
import { deferred, withTimeout } from '../../util/with-timeout.js'
import { AdminChannel } from '../connection/admin-channel.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import type { Endpoint } from '../connection/endpoint.js'
import { ReconnectingChannel } from '../connection/reconnecting-channel.js'
import { connectWithin, ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { BrokerError } from '../errors.js'
import {
  CONNECTION_OPTIONS,
  CONTROL_OPTIONS,
  type ConnectionOptions,
  type ControlOptions,
  endpointOf,
  FIRST_CONNECTION_OPTIONS,
  type FirstConnectionOptions,
} from '../options/client-options.js'
import { REPLY_TO } from '../publishing/calls.js'
import { declareExchanges, EVENT_KEY, JSON_TYPE } from '../topology/topology.js'
import { BoundQueue } from './bound-queue.js'
import { sign } from './signature.js'

interface ControlClientSettings extends Endpoint {
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  /** ms for the first connection. */
  readonly connectTimeout: number
}

const closedError = (call: string): BrokerError => new BrokerError(`${call} is refused: the control client is closed or closing.`)

/** An operator's side of the control exchange. */
export class AmqpControlClient implements ControlClient {
  readonly #settings: ControlClientSettings
  readonly #connection: ReconnectingConnection
  readonly #admin: AdminChannel
  readonly #requestChannel: ReconnectingChannel
  readonly #requests = new Map<string, AnswerQueue>()
  /** Each with the function that rejects its `listen`. */
  readonly #eventQueues = new Map<BoundQueue, (error: Error) => void>()
  /** Requests that wait for a channel. */
  readonly #pending = new Set<ReturnType<typeof deferred<AmqpChannel>>>()
  #closing: Promise<void> | undefined

  constructor(settings: ControlClientSettings) {
    const { controlExchange, eventExchange } = settings
    this.#settings = settings
    this.#connection = new ReconnectingConnection(settings, `prefork operator ${process.pid}`)
    this.#admin = new AdminChannel(this.#connection)
    this.#requestChannel = new ReconnectingChannel(this.#connection, {
      confirm: false,
      setup: async (channel) => {
        await declareExchanges(channel, controlExchange, eventExchange)
        await channel.consume(REPLY_TO, (message) => this.#receiveAnswer(message), { noAck: true })
      },
      opened: (channel) => {
        for (const each of this.#pending) each.resolve(channel)
      },
      closed: (_channel, reason) => {
        for (const answers of this.#requests.values())
          answers.push(new BrokerError(`The connection to RabbitMQ was lost: ${reason.message}`, { cause: reason }))
      },
    })
  }

  /** @internal */
  async start(): Promise<void> {
    const { controlExchange, eventExchange } = this.#settings
    try {
      // An exchange that exists with other arguments is an error here; the request channel would retry it forever.
      await connectWithin(this.#connection, this.#settings, () => this.#admin.run((channel) => declareExchanges(channel, controlExchange, eventExchange)))
    } catch (error) {
      await this.close()
      throw error
    }
  }

  get connected(): boolean {
    return this.#connection.current !== undefined
  }

  #receiveAnswer(message: AmqpMessage | null): void {
    const answer = message === null ? undefined : readAnswer(message.content)
    if (answer !== undefined) this.#requests.get(message?.properties.correlationId ?? '')?.push(answer)
  }

  ask(to: Address, command: Command, options?: { timeout?: number }): AsyncIterableIterator<Answer> {
    return this.#ask(readControlRequest(to, command, options))
  }

  async *#ask({ to, body, timeout }: ControlRequest): AsyncIterableIterator<Answer> {
    if (this.#closing !== undefined) throw closedError('ask')
    const outstanding = to === 'all' ? undefined : new Set(to)
    if (outstanding?.size === 0) return
    const id = randomUUID()
    const answers = new AnswerQueue()
    this.#requests.set(id, answers)
    const timer = setTimeout(() => answers.push(undefined), timeout)
    try {
      const channel = this.#requestChannel.channel ?? (await this.#open(timeout))
      const { controlExchange, secret } = this.#settings
      channel.publish(controlExchange, '', body, { contentType: JSON_TYPE, correlationId: id, replyTo: REPLY_TO, headers: sign(secret, body) })
      for (let answer = await answers.next(); answer !== undefined; answer = await answers.next()) {
        yield answer
        outstanding?.delete(answer.node)
        if (outstanding?.size === 0) return
      }
    } finally {
      clearTimeout(timer)
      this.#requests.delete(id)
    }
  }

  async #open(timeout: number): Promise<AmqpChannel> {
    const opened = deferred<AmqpChannel>()
    this.#pending.add(opened)
    try {
      return await withTimeout(opened.promise, timeout, (): never => {
        throw new BrokerError(`RabbitMQ could not be reached within ${timeout} ms.`)
      })
    } finally {
      this.#pending.delete(opened)
    }
  }

  async listen(listener: (event: FarmEvent) => void): Promise<() => Promise<void>> {
    if (typeof listener !== 'function') throw new TypeError('client.listen(listener): the listener must be a function.')
    if (this.#closing !== undefined) throw closedError('listen')
    const ready = deferred()
    const { controlExchange, eventExchange } = this.#settings
    const eventQueue = new BoundQueue(this.#connection, {
      controlExchange,
      eventExchange,
      to: 'events',
      key: EVENT_KEY,
      receive: ({ content }) => {
        for (const event of readEvents(content)) notify(listener, event)
      },
      opened: (channel) => {
        // A command without an addressee: nodes that had found no listener send events again.
        channel.publish(controlExchange, '', toJson({ to: [], command: { command: 'ping' } }), { contentType: JSON_TYPE })
        ready.resolve()
      },
    })
    this.#eventQueues.set(eventQueue, ready.reject)
    await ready.promise
    return async () => {
      this.#eventQueues.delete(eventQueue)
      await eventQueue.close()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    for (const answers of this.#requests.values()) answers.push(undefined)
    for (const each of this.#pending) each.reject(closedError('ask'))
    for (const reject of this.#eventQueues.values()) reject(closedError('listen'))
    await Promise.all([this.#requestChannel.close(), this.#admin.close(), ...[...this.#eventQueues.keys()].map((each) => each.close())])
    await this.#connection.close(new BrokerError('The control client has been closed.'))
  }
}

export interface ControlClientOptions extends ConnectionOptions, FirstConnectionOptions, ControlOptions {}

const OPTIONS = { ...CONNECTION_OPTIONS, ...FIRST_CONNECTION_OPTIONS, ...CONTROL_OPTIONS } satisfies OptionTable<ControlClientOptions>

/**
 * Connects an operator to the control exchange. A connection that is lost later is made again, however long that takes.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {BrokerError} RabbitMQ cannot be reached within `connectTimeout`, the login is refused, or an exchange exists as something else
 * @throws {PreforkError} `ERR_PREFORK_AMQPLIB_MISSING`: the package amqplib is not installed
 */
export const createControlClient = async (options: ControlClientOptions = {}): Promise<ControlClient> => {
  const { url, tls, ...rest } = readOptions(OPTIONS, 'createControlClient', plainObject('options', options))
  const client = new AmqpControlClient({ ...endpointOf({ url, tls }), ...rest })
  await client.start()
  return client
}
