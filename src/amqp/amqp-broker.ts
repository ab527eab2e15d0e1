import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Broker, Consumption, QueueBacklog, WorkAhead } from '../node/broker.js'
import { RetryWarnings } from '../node/connection/retry-warnings.js'
import type { Delivery } from '../runtime/delivery.js'
import { AdminChannel } from './connection/admin-channel.js'
import type { AmqpConnection, AmqpMessage } from './connection/client.js'
import { ReconnectingConnection } from './connection/reconnecting-connection.js'
import type { Consumer } from './consuming/channel-generation.js'
import { AmqpConsumption } from './consuming/consumption.js'
import { AmqpDelivery, type SettlementContext } from './consuming/delivery.js'
import { GivenBackJobs } from './consuming/given-back.js'
import { AmqpNodeControl } from './control/node-control.js'
import { BrokerError } from './errors.js'
import { consumerArguments, consumerTimeoutFor, featureWarnings, readFeatures } from './features.js'
import type { AmqpSettings } from './options/client-options.js'
import { ConfirmingPublisher } from './publishing/confirming-publisher.js'
import { JobPublisher } from './publishing/job-publisher.js'
import { readyMessages } from './topology/queue-contents.js'
import { declareExchanges, declareQueue, levelAbove, queuesBehind } from './topology/topology.js'

/** ms that a closing node waits for confirms, after the wait of its drain. During an alarm none arrives. */
const CONFIRM_TIMEOUT = 1_000

interface BrokerEvents {
  connected: []
  disconnected: [reason: Error]
  warning: [message: string]
}

/** RabbitMQ as the broker of a node. */
export class AmqpBroker implements Broker {
  readonly kind = 'amqp'
  readonly queues: readonly string[]
  readonly control: AmqpNodeControl
  readonly #settings: AmqpSettings
  readonly #events = new EventEmitter<BrokerEvents>()
  /**
   * Two connections: during an alarm RabbitMQ stops reading a connection that publishes. Everything by which a node takes jobs (declarations,
   * depth, consumers, acknowledgements) is therefore on one that never does: the jobs that are taken are what ends the alarm.
   */
  readonly #consuming: ReconnectingConnection
  readonly #publishing: ReconnectingConnection
  readonly #admin: AdminChannel
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  readonly #settlement: SettlementContext
  readonly #warnings = new RetryWarnings((message) => this.#events.emit('warning', message))
  #connecting: Promise<unknown> | undefined
  #consumption: AmqpConsumption | undefined
  /** ms that a delivery may stay unsettled; undefined: no limit. */
  #longestDelivery: number | undefined
  #connected = false

  constructor(settings: AmqpSettings, node: string) {
    this.#settings = settings
    this.queues = settings.queues
    this.#consuming = new ReconnectingConnection(settings, `prefork ${node} (jobs)`)
    this.#publishing = new ReconnectingConnection(settings, `prefork ${node} (publications)`)
    const warn = (message: string): void => this.#warn(message)
    for (const connection of [this.#consuming, this.#publishing]) {
      connection.on('up', () => this.#updateConnected())
      connection.on('down', (reason) => this.#updateConnected(reason))
      connection.on('retry', (error) => warn(`RabbitMQ cannot be reached, and is tried again: ${error.message}`))
      connection.on('blocked', (reason) => warn(`RabbitMQ takes no publications for now: ${reason}. Retries and dead letters wait.`))
    }
    this.#admin = new AdminChannel(this.#consuming)
    this.#publisher = new ConfirmingPublisher(this.#publishing)
    this.#jobs = new JobPublisher(this.#publisher, this.#admin, settings.shape)
    this.#settlement = { node, jobs: this.#jobs, publisher: this.#publisher, givenBack: new GivenBackJobs(this.#publishing) }
    const { controlExchange, eventExchange, secret } = settings
    this.control = new AmqpNodeControl(this.#consuming, this.#publishing, { node, controlExchange, eventExchange, secret, warn })
  }

  get connected(): boolean {
    return this.#connected
  }

  on(event: 'connected' | 'disconnected', listener: (reason?: Error) => void): void
  on(event: 'warning', listener: (message: string) => void): void
  on(event: keyof BrokerEvents, listener: (given: never) => void): void {
    this.#events.on(event as 'warning', listener as unknown as (message: string) => void)
  }

  #updateConnected(reason?: Error): void {
    const connected = this.#consuming.current !== undefined && this.#publishing.current !== undefined
    if (connected === this.#connected) return
    this.#connected = connected
    if (connected) this.#events.emit('connected')
    else this.#events.emit('disconnected', reason ?? new Error('The connection was closed.'))
  }

  /** A warning that recurs at each attempt is not repeated for a while. */
  #warn(message: string): void {
    this.#warnings.warn(message)
  }

  async connect(): Promise<void> {
    this.#connecting ??= Promise.all([this.#consuming.start(), this.#publishing.start()])
    await this.#connecting
  }

  async start(work?: WorkAhead): Promise<void> {
    this.#longestDelivery = this.#settings.consumerTimeout ?? work?.longestDelivery
    try {
      await this.connect()
      const { queues, shape } = this.#settings
      for (const queue of queues) await this.#admin.run((channel) => declareQueue(channel, queue, shape))
      await this.#declareExchanges()
      const connection = this.#consuming.current
      if (connection === undefined) return
      for (const each of featureWarnings(readFeatures(connection.connection.serverProperties), shape, this.#longestDelivery)) this.#warn(each)
      // Only for a warning: the start does not wait for it.
      for (const queue of queues) void this.#warnOfHigherLevels(connection, queue).catch(() => {})
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** An exchange that exists as something else is an error now: later the control would retry it for ever. Any other problem of the exchanges is a warning of the control. */
  async #declareExchanges(): Promise<void> {
    const { controlExchange, eventExchange } = this.#settings
    try {
      await this.#admin.run((channel) => declareExchanges(channel, controlExchange, eventExchange))
    } catch (error) {
      if (error instanceof BrokerError) throw error
    }
  }

  /** Warns when other nodes or publishers use more levels of priority. Each level is a queue, so the declaration of the others does not show it. */
  async #warnOfHigherLevels(connection: AmqpConnection, queue: string): Promise<void> {
    const { shape } = this.#settings
    const above = levelAbove(queue, shape)
    const waiting = above === undefined ? undefined : await readyMessages(connection, above)
    if (waiting === undefined) return
    this.#warn(
      `The queue '${queue}' has more levels of priority than this node's priorityLevels (${shape.priorityLevels}): there is '${above}', where ${waiting} jobs wait now. This node takes none of them. Give every node and publisher the same priorityLevels; a level that is no longer used is removed with rabbitmqctl delete_queue ${above}, once it is empty.`,
    )
  }

  consume(capacity: number, receive: (delivery: Delivery) => void, _giveBack?: (queue: string) => void, slots?: number): Consumption {
    if (this.#consumption !== undefined) throw new BrokerError('A broker consumes once: use resume() of the consumption that there is.')
    const { queues, shape, consumerTimeout } = this.#settings
    const timeout = consumerTimeout ?? consumerTimeoutFor(this.#longestDelivery)
    const settlement = this.#settlement
    const deliver = (message: AmqpMessage, consumer: Consumer, base: string): void =>
      receive(new AmqpDelivery(message, consumer, base, shape.queueType === 'classic', settlement, () => deliver(message, consumer, base)))
    this.#consumption = new AmqpConsumption(this.#consuming, {
      sources: queues.flatMap((base) => queuesBehind(base, shape).map((queue) => ({ base, queue }))),
      shape,
      consumerArguments: () => {
        const properties = this.#consuming.current?.connection.serverProperties
        return properties === undefined ? {} : consumerArguments(readFeatures(properties), shape, timeout)
      },
      receive: deliver,
      givenBack: settlement.givenBack,
      warn: (message) => this.#warn(message),
    })
    this.#consumption.setCapacity(capacity, slots)
    return this.#consumption
  }

  async depth(): Promise<number> {
    return (await this.backlog()).reduce((sum, { ready }) => sum + ready, 0)
  }

  backlog(): Promise<QueueBacklog[]> {
    const { queues, shape } = this.#settings
    return this.#admin.runNow(async (channel) => {
      const backlog: QueueBacklog[] = []
      for (const queue of queues) {
        let ready = 0
        let consumers = 0
        let own = 0
        for (const behind of queuesBehind(queue, shape)) {
          const { messageCount, consumerCount } = await channel.checkQueue(behind)
          ready += messageCount
          consumers += consumerCount
          own += this.#consumption?.check(behind, messageCount) ?? 0
        }
        // A consumer that has just begun, or is being cancelled, may be missing in either number.
        backlog.push({ queue, ready, share: consumers <= own ? 1 : Math.max(1, own) / consumers })
      }
      return backlog
    })
  }

  async close(): Promise<void> {
    await this.#publisher.finish(CONFIRM_TIMEOUT)
    // One turn for the runtime to requeue what was not confirmed, before the channels are closed.
    await nextTurn()
    await Promise.all([this.#publisher.close(0), this.#consumption?.close(), this.control.close(), this.#admin.close()])
    const closed = new BrokerError('The connection to RabbitMQ has been closed.')
    await Promise.all([this.#consuming.close(closed), this.#publishing.close(closed)])
  }
}
