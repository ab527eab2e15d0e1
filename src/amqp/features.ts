import type { QueueShape } from './topology/topology.js'

/** What the broker supports, by the product and version that it reports. */
export interface BrokerFeatures {
  readonly product: string
  readonly version: string
  /** A policy can set the consumer timeout of queues: RabbitMQ 3.12. */
  readonly timeoutPolicy: boolean
  /** A consumer of a quorum queue can set its timeout, and classic queues have none: RabbitMQ 4.3. Earlier versions ignore the argument. */
  readonly consumerTimeout: boolean
  /** Quorum queues support message TTL and at-least-once dead-lettering: RabbitMQ 3.10. */
  readonly safeDelays: boolean
}

const isAtLeast = (version: string, major: number, minor: number): boolean => {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

export const readFeatures = (serverProperties: Readonly<Record<string, unknown>>): BrokerFeatures => {
  const product = String(serverProperties.product ?? 'a broker that does not say what it is')
  const version = String(serverProperties.version ?? '0')
  const rabbit = product === 'RabbitMQ'
  const since = (major: number, minor: number): boolean => rabbit && isAtLeast(version, major, minor)
  return { product, version, timeoutPolicy: since(3, 12), consumerTimeout: since(4, 3), safeDelays: since(3, 10) }
}

/** RabbitMQ's default `consumer_timeout`, ms. */
const DEFAULT_CONSUMER_TIMEOUT = 30 * 60_000

/** ms requested at least, and when nothing bounds the jobs. The node's own time limits end a hanging job long before. */
const MIN_CONSUMER_TIMEOUT = 24 * 60 * 60_000

/** The `x-consumer-timeout` to request, ms. `longest`: ms that a job may be held; undefined: no limit. */
export const consumerTimeoutFor = (longest: number | undefined): number => Math.max(longest ?? 0, MIN_CONSUMER_TIMEOUT)

/**
 * Arguments of `basic.consume`. None with `declare: false`: the queue may be a classic one, which refuses the argument. The timeout is
 * not set at the declaration: RabbitMQ refuses that from 4.3.2 on when the queue exists without it.
 */
export const consumerArguments = ({ consumerTimeout }: BrokerFeatures, { queueType, declare }: QueueShape, timeout: number): Record<string, unknown> =>
  consumerTimeout && queueType === 'quorum' && declare ? { 'x-consumer-timeout': timeout } : {}

/** Warnings at the start of a node. `longest`: ms that a job may be held; undefined: no limit. */
export const featureWarnings = (features: BrokerFeatures, { queueType, declare }: QueueShape, longest: number | undefined): string[] => {
  const { product, version, timeoutPolicy, consumerTimeout, safeDelays } = features
  const warnings: string[] = []
  if (product !== 'RabbitMQ') warnings.push(`The broker is ${product} ${version}; prefork is tested with RabbitMQ.`)
  else if (!safeDelays)
    warnings.push(`RabbitMQ ${version} is older than 3.10: its quorum queues cannot hold delayed jobs, so delays and retries fail. Upgrade it.`)
  const unlimited = consumerTimeout && (declare || queueType === 'classic')
  if (!unlimited && (longest ?? Number.POSITIVE_INFINITY) > DEFAULT_CONSUMER_TIMEOUT)
    warnings.push(
      `${product} ${version} hands a job out again when a node holds it for longer than consumer_timeout (${DEFAULT_CONSUMER_TIMEOUT / 60_000} minutes unless ${timeoutPolicy ? 'rabbitmq.conf or a policy' : 'rabbitmq.conf'} says otherwise), though it still runs here. Keep hard time limits below that timeout, or raise it: consumer_timeout in rabbitmq.conf${timeoutPolicy ? ', or consumer-timeout in a policy for the queues' : ''}. A node asks for more by itself only from RabbitMQ 4.3 on, for quorum queues that it declares.`,
    )
  return warnings
}
