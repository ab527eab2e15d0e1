/** What the broker at the other end can do, by what it says of itself. */
import type { QueueShape } from './topology/topology.js'

export interface Features {
  readonly product: string
  readonly version: string
  /** A policy may say how long jobs of its queues may be held: RabbitMQ 3.12. */
  readonly timeoutPolicy: boolean
  /** Each consumer of a quorum queue may, and classic queues have no such limit: RabbitMQ 4.3. Earlier ones do not look at what a consumer asks for. */
  readonly consumerTimeout: boolean
  /** Quorum queues whose messages expire, and which dead-letter at least once: RabbitMQ 3.10. */
  readonly safeDelays: boolean
}

const connectedPeer = (version: string, major: number, minor: number): boolean => {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

export const readFeatures = (serverProperties: Readonly<Record<string, unknown>>): Features => {
  const product = String(serverProperties.product ?? 'a broker that does not say what it is')
  const version = String(serverProperties.version ?? '0')
  const rabbit = product === 'RabbitMQ'
  const since = (major: number, minor: number): boolean => rabbit && connectedPeer(version, major, minor)
  return { product, version, timeoutPolicy: since(3, 12), consumerTimeout: since(4, 3), safeDelays: since(3, 10) }
}

/** RabbitMQ's own `consumer_timeout`, ms, unless its configuration says otherwise. */
const DEFAULT_CONSUMER_TIMEOUT = 30 * 60_000

/** ms asked for when nothing is known of the jobs, and at the least: what hangs, the node's own limits end long before. */
const CONSUMER_TIMEOUT = 24 * 60 * 60_000

/** The `x-consumer-timeout` to ask for, ms. `longest`: the longest that a job may be held, ms; undefined for no limit. */
export const consumerTimeoutFor = (longest: number | undefined): number => Math.max(longest ?? 0, CONSUMER_TIMEOUT)

/**
 * Arguments of `basic.consume`. Of the queues that others declared it is not known what they are, and a classic one refuses the argument.
 * No queue is declared with `x-consumer-timeout`: one that was declared otherwise before would be refused from 4.3.2 on.
 */
export const consumerArguments = ({ consumerTimeout }: Features, { queueType, declare }: QueueShape, timeout: number): Record<string, unknown> =>
  consumerTimeout && queueType === 'quorum' && declare ? { 'x-consumer-timeout': timeout } : {}

/** What an operator should know at the start. `longest`: the longest that a job may be held, ms; undefined for no limit. */
export const featureWarnings = (features: Features, { queueType, declare }: QueueShape, longest: number | undefined): string[] => {
  const { product, version, timeoutPolicy, consumerTimeout, safeDelays } = features
  const warnings: string[] = []
  if (product !== 'RabbitMQ') warnings.push(`The broker is ${product} ${version}; prefork is tested with RabbitMQ.`)
  else if (!safeDelays)
    warnings.push(`RabbitMQ ${version} is older than 3.10: its quorum queues cannot hold delayed jobs, so delays and retries fail. Upgrade it.`)
  const unlimited = consumerTimeout && (declare || queueType === 'classic')
  if (!unlimited && (longest ?? Number.POSITIVE_INFINITY) > DEFAULT_CONSUMER_TIMEOUT)
    warnings.push(
      `${product} ${version} hands a job out again when a node holds it for longer than consumer_timeout (${DEFAULT_CONSUMER_TIMEOUT / 60_000} minutes unless ${timeoutPolicy ? 'rabbitmq.conf or a policy' : 'rabbitmq.conf'} says otherwise), though it still runs here. Keep hard time limits below that figure, or raise it: consumer_timeout in rabbitmq.conf${timeoutPolicy ? ', or consumer-timeout in a policy for the queues' : ''}. A node asks for more by itself only from RabbitMQ 4.3 on, for quorum queues that it declares.`,
    )
  return warnings
}
