import type { Endpoint } from '../connection/endpoint.js'
import type { QueueShape } from '../topology/topology.js'

/** What the AMQP side of a node, a publisher or an operator needs to know. Validated. */
export interface AmqpSettings extends Endpoint {
  readonly queues: readonly string[]
  readonly shape: QueueShape
  readonly controlExchange: string
  readonly eventExchange: string
  readonly secret: string | undefined
  /** ms that RabbitMQ lets a job be held; asked of it where it can be. Undefined: by what the node knows of its jobs. */
  readonly consumerTimeout: number | undefined
}
