/** The RabbitMQ of these tests: queues with random names, removed afterwards. Without a RabbitMQ the suites are skipped with a warning. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'amqplib'
import { afterAll, describe } from 'vitest'
import { AmqpBroker } from '../../src/amqp/amqp-broker.js'
import { AdminChannel } from '../../src/amqp/connection/admin-channel.js'
import { ReconnectingConnection } from '../../src/amqp/connection/reconnecting-connection.js'
import { BrokerError } from '../../src/amqp/errors.js'
import { writeHeaders } from '../../src/amqp/headers/message-headers.js'
import type { AmqpSettings } from '../../src/amqp/options/client-options.js'
import { ConfirmingPublisher } from '../../src/amqp/publishing/confirming-publisher.js'
import { JobPublisher } from '../../src/amqp/publishing/job-publisher.js'
import { DELAY_STEPS } from '../../src/amqp/topology/delay-steps.js'
import type { Counts, Delivery, HistoryEntry, JobHeaders, Settlement } from '../../src/runtime/delivery.js'
import { until } from '../fixtures/until.js'
import { serverBinary } from './server.js'

export { serverBinary, until }

export const RABBITMQ_URL = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672/'

export const reachable = await connect(RABBITMQ_URL, { timeout: 5_000 }).then(
  async (connection) => {
    await connection.close()
    return true
  },
  () => false,
)
if (!reachable && process.env.REQUIRE_BROKER === '1') throw new Error(`REQUIRE_BROKER=1, and there is no RabbitMQ at ${RABBITMQ_URL}`)
if (!reachable) console.warn(`SKIPPED: the suites of test/amqp, because there is no RabbitMQ at ${RABBITMQ_URL}`)

/** `describe` for suites that need the broker. */
export const withRabbit = describe.skipIf(!reachable)

/** `describe` for suites that start a broker of their own. `what`: named where they are skipped. */
export const withOwnServer = (what: string): typeof withRabbit => {
  if (serverBinary !== undefined) return withRabbit
  const lack = 'no rabbitmq-server was found that a broker of their own could be started from'
  if (process.env.REQUIRE_BROKER === '1') throw new Error(`REQUIRE_BROKER=1, and ${lack}`)
  console.warn(`SKIPPED: ${what}: ${lack}`)
  return describe.skip
}

export const newName = (): string => `test.${randomBytes(6).toString('hex')}`

/** A connection of the test's own, beside those under test. */
export const admin = async (url = RABBITMQ_URL) => {
  const connection = await connect(url)
  connection.on('error', () => {})
  const onChannel = async <T>(use: (channel: Awaited<ReturnType<typeof connection.createChannel>>) => Promise<T>): Promise<T> => {
    const channel = await connection.createChannel()
    channel.on('error', () => {})
    try {
      return await use(channel)
    } finally {
      await channel.close().catch(() => {})
    }
  }
  return { onChannel, close: () => connection.close().catch(() => {}) }
}

/** The delay queues that tests use. Each level has more than 600. */
const STEPS = DELAY_STEPS.filter((step) => step <= 60_000)

/** The suffixes of the levels of priority that a queue may have. */
const LEVELS = ['', ...Array.from({ length: 9 }, (_, i) => `.p${i + 1}`)]

/** Deletes everything whose name begins with one of these. Hundreds of requests for each level: most queues have one. */
export const removeQueues = async (names: Iterable<string>, exchanges: Iterable<string>, url = RABBITMQ_URL): Promise<void> => {
  const { onChannel, close } = await admin(url)
  for (const name of names) {
    // RabbitMQ refuses to check a queue that does not exist, and closes the channel.
    const levels = await onChannel((channel) => channel.checkQueue(`${name}${LEVELS[1]}`)).then(
      () => LEVELS,
      () => [''],
    )
    await onChannel(async (channel) => {
      for (const level of levels) {
        await channel.deleteQueue(`${name}${level}`)
        for (const step of STEPS) await channel.deleteQueue(`${name}${level}.delay.${step}ms`)
      }
      await channel.deleteQueue(`${name}.dlq`)
    })
  }
  // RabbitMQ refuses to delete an exchange in use, and closes the channel.
  for (const exchange of exchanges) await onChannel((channel) => channel.deleteExchange(exchange, { ifUnused: true })).catch(() => {})
  await close()
}

/** A job on its way to a queue. */
export interface OutgoingJob {
  readonly id: string
  readonly key?: string
  readonly queue: string
  readonly body: Buffer
  readonly headers: Partial<JobHeaders>
  readonly counts: Counts
  readonly history?: readonly HistoryEntry[]
  /** ms until it may be delivered. */
  readonly delay?: number
}

/** A broker that also publishes messages as any client may: with every header and count, over a connection of its own. */
export class PublishingBroker extends AmqpBroker {
  readonly #connection: ReconnectingConnection
  readonly #admin: AdminChannel
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  #started: Promise<void> | undefined

  constructor(settings: AmqpSettings, node: string) {
    super(settings, node)
    this.#connection = new ReconnectingConnection(settings, `publications of a test, beside ${node}`)
    this.#admin = new AdminChannel(this.#connection)
    this.#publisher = new ConfirmingPublisher(this.#connection)
    this.#jobs = new JobPublisher(this.#publisher, this.#admin, settings.shape)
  }

  async publish({ id, key, queue, body, headers, counts, history, delay }: OutgoingJob): Promise<void> {
    this.#started ??= this.#connection.start()
    await this.#started
    await this.#jobs.publish({ queue, body, options: { ...writeHeaders(headers, counts, history, delay, key), messageId: id }, delay })
  }

  override async close(): Promise<void> {
    await super.close()
    if (this.#started === undefined) return
    await Promise.all([this.#publisher.close(0), this.#admin.close()])
    await this.#connection.close(new BrokerError('The test is over.'))
  }
}

export type Overrides = Partial<Omit<AmqpSettings, 'shape'>> & { queueType?: 'quorum' | 'classic'; priorityLevels?: number; declare?: boolean; node?: string }

/** Queues and exchanges of a suite's own: random names, removed at its end. */
export const isolatedTopology = (url = RABBITMQ_URL) => {
  const queue = newName()
  const controlExchange = `${queue}.control`
  const eventExchange = `${queue}.events`
  const made: { close(): Promise<unknown> }[] = []
  const queues = new Set([queue])
  const keep = <T extends { close(): Promise<unknown> }>(each: T): T => {
    made.push(each)
    return each
  }
  const settings = (overrides: Overrides = {}): AmqpSettings => {
    const { queueType = 'quorum', priorityLevels = 1, declare = true, node: _node, ...rest } = overrides
    return {
      url,
      queues: [queue],
      shape: { queueType, priorityLevels, declare },
      controlExchange,
      eventExchange,
      secret: undefined,
      consumerTimeout: undefined,
      ...rest,
    }
  }
  /** A node's side of the broker, started. */
  const broker = async (overrides: Overrides = {}): Promise<PublishingBroker> => {
    for (const each of overrides.queues ?? []) queues.add(each)
    const made = keep(new PublishingBroker(settings(overrides), overrides.node ?? 'node-1'))
    await made.start()
    return made
  }
  const cleanUp = async (): Promise<void> => {
    await Promise.all(made.map((each) => each.close()))
    await removeQueues(queues, [controlExchange, eventExchange], url)
  }
  afterAll(cleanUp)
  return { queue, queues, controlExchange, eventExchange, keep, settings, broker, cleanUp }
}

/** Publishes again while the queue is being deleted: it refuses the message, which was not stored. */
export const untilStored = async (publish: () => Promise<unknown>): Promise<void> => {
  const refused = (error: unknown): false => {
    if ((error as { stored?: string }).stored === 'no') return false
    throw error
  }
  while (!(await publish().then(() => true, refused))) await delay(50)
}

export const first = { attempt: 1, losses: 0, requeues: 0 }

export const job = (queue: string, id: string, more: Partial<OutgoingJob> = {}): OutgoingJob => ({
  id,
  queue,
  body: Buffer.from(id),
  headers: {},
  counts: first,
  ...more,
})
export const acknowledge: Settlement = { kind: 'acknowledge' }
export const settled = { settled: true, published: false }
export const dropped = { settled: false, published: false }

export const gone = (delivery: Delivery): Promise<boolean> => until('its channel is closed', () => delivery.gone.aborted).then(() => true)

/** Collects deliveries, and waits for single ones by id. */
export class DeliveryCollector {
  readonly all: Delivery[] = []
  readonly receive = (delivery: Delivery): void => {
    this.all.push(delivery)
  }

  async take(id: string, nth = 0): Promise<Delivery> {
    await until(`delivery ${nth} of ${id}; there are ${this.all.map((each) => each.id)}`, () => this.of(id).length > nth)
    return this.of(id)[nth]!
  }

  of(id: string): Delivery[] {
    return this.all.filter((each) => each.id === id)
  }

  get ids(): (string | undefined)[] {
    return this.all.map((each) => each.id)
  }
}
