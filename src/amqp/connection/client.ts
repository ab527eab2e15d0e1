/** The part of amqplib that is used here, typed here: amqplib is an optional peer dependency, and its own types may not be installed. */
import type { TlsSettings } from '../../node/connection/tls-options.js'
import { setImmediate } from '../../util/node-time.js'
import { PreforkError } from '../../wire/errors.js'
import { readDeliveriesInPlace } from './delivery-frames.js'
import { type Endpoint, loginOf, withHeartbeat } from './endpoint.js'

type Listener = (...args: never[]) => void

export interface AmqpMessage {
  readonly content: Buffer
  readonly fields: {
    readonly deliveryTag: number
    readonly redelivered: boolean
    readonly exchange: string
    readonly routingKey: string
    readonly replyText?: string
  }
  readonly properties: AmqpProperties & { readonly headers?: Readonly<Record<string, unknown>> | undefined }
}

/** Properties that a message does not have are undefined. */
export interface AmqpProperties {
  readonly contentType?: string | undefined
  readonly contentEncoding?: string | undefined
  readonly priority?: number | undefined
  readonly correlationId?: string | undefined
  readonly replyTo?: string | undefined
  readonly expiration?: string | undefined
  readonly messageId?: string | undefined
  /** s since the epoch. */
  readonly timestamp?: number | undefined
  readonly type?: string | undefined
  readonly appId?: string | undefined
}

export interface PublishOptions extends AmqpProperties {
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly persistent?: boolean
  readonly mandatory?: boolean
}

export interface AmqpChannel {
  /** amqplib's internal connection: the channel's frames are written to its stream. */
  readonly connection: { readonly stream?: AmqpStream }
  on(event: string, listener: Listener): unknown
  close(): Promise<void>
  assertQueue(
    queue: string,
    options: { durable: boolean; exclusive?: boolean; autoDelete?: boolean; arguments?: Readonly<Record<string, unknown>> },
  ): Promise<{ queue: string }>
  checkQueue(queue: string): Promise<{ messageCount: number; consumerCount: number }>
  purgeQueue(queue: string): Promise<{ messageCount: number }>
  bindQueue(queue: string, exchange: string, key: string): Promise<unknown>
  assertExchange(exchange: string, type: string, options?: { durable?: boolean }): Promise<unknown>
  /** Returns false when the socket's buffer is full, until `drain`. `done` is called with the broker's confirm, on confirm channels only. */
  publish(exchange: string, key: string, body: Buffer, options?: PublishOptions, done?: (error: Error | null) => void): boolean
  consume(
    queue: string,
    receive: (message: AmqpMessage | null) => void,
    options?: { noAck?: boolean; consumerTag?: string; arguments?: Readonly<Record<string, unknown>> },
  ): Promise<{ consumerTag: string }>
  cancel(consumerTag: string): Promise<unknown>
  get(queue: string, options?: { noAck?: boolean }): Promise<AmqpMessage | false>
  /** Only the tag is used. `allUpTo`: acknowledges all unsettled deliveries before it as well (AMQP's `multiple`). */
  ack(message: { readonly fields: Pick<AmqpMessage['fields'], 'deliveryTag'> }, allUpTo?: boolean): void
  nack(message: AmqpMessage, allUpTo: boolean, requeue: boolean): void
  prefetch(count: number): Promise<unknown>
}

export interface AmqpStream {
  destroy(error?: Error): void
  cork(): void
  uncork(): void
}

/** amqplib writes its frames one by one in the next turn: corked until then, they are one system call. `then` is called when they are written. */
export const corkForTurn = (stream: Pick<AmqpStream, 'cork' | 'uncork'>, then?: () => void): void => {
  stream.cork()
  const uncork = (): void => {
    stream.uncork()
    then?.()
  }
  setImmediate(() => setImmediate(uncork))
}

export interface AmqpConnection {
  readonly connection: { readonly serverProperties: Readonly<Record<string, unknown>>; readonly stream?: AmqpStream }
  on(event: string, listener: Listener): unknown
  close(): Promise<void>
  createChannel(): Promise<AmqpChannel>
  createConfirmChannel(): Promise<AmqpChannel>
}

interface Amqplib {
  readonly credentials: { plain(user: string, password: string): unknown }
  connect(
    url: string,
    options: {
      timeout: number
      noDelay: boolean
      keepAlive: boolean
      clientProperties: Record<string, unknown>
      credentials?: unknown
    } & Partial<TlsSettings>,
  ): Promise<AmqpConnection>
}

/** Loads amqplib. Rejects with PreforkError `ERR_PREFORK_AMQPLIB_MISSING`, which names the command that installs it. */
export const loadClient = async (): Promise<Amqplib> => {
  try {
    const loaded = (await import('amqplib')) as unknown as Amqplib & { default?: Amqplib }
    return loaded.default ?? loaded
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND' || !/amqplib/.test((cause as Error).message)) throw cause
    const message = "RabbitMQ is reached through the package 'amqplib', which is not installed beside prefork: npm install amqplib"
    throw new PreforkError('ERR_PREFORK_AMQPLIB_MISSING', message, { cause })
  }
}

/** ms for one attempt, handshake included. */
const CONNECT_TIMEOUT = 10_000

/** One attempt to connect. `name`: as RabbitMQ's list of connections shows it. */
export const connect = async (client: Amqplib, { url, tls }: Endpoint, name: string): Promise<AmqpConnection> => {
  const clientProperties = { connection_name: name, product: 'prefork' }
  const login = loginOf(url)
  const credentials = login === undefined ? undefined : client.credentials.plain(login.user, login.password)
  const options = { ...tls, timeout: CONNECT_TIMEOUT, noDelay: true, keepAlive: true, clientProperties, credentials }
  const connection = await client.connect(withHeartbeat(url), options)
  readDeliveriesInPlace(connection.connection)
  return connection
}
