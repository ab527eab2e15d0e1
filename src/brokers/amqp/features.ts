/** What the broker at the other end can do, by what it says of itself. */

export interface Features {
  readonly product: string
  readonly version: string
  /** `x-consumer-timeout` of a consumer: RabbitMQ 3.12. */
  readonly consumerTimeout: boolean
  /** Quorum queues whose messages expire, and which dead-letter at least once: RabbitMQ 3.10. */
  readonly safeDelays: boolean
}

const reached = (version: string, major: number, minor: number): boolean => {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

export const readFeatures = (serverProperties: Readonly<Record<string, unknown>>): Features => {
  const product = String(serverProperties.product ?? 'a broker that does not say what it is')
  const version = String(serverProperties.version ?? '0')
  const rabbit = product === 'RabbitMQ'
  return { product, version, consumerTimeout: rabbit && reached(version, 3, 12), safeDelays: rabbit && reached(version, 3, 10) }
}

/** RabbitMQ's own `consumer_timeout`, ms, unless its configuration says otherwise. */
const DEFAULT_CONSUMER_TIMEOUT = 30 * 60_000

/** ms asked for when nothing is known of the jobs, and at the least: what hangs, the node's own limits end long before. */
const CONSUMER_TIMEOUT = 24 * 60 * 60_000

/** The `x-consumer-timeout` to ask for, ms. `longest`: the longest that a job may be held, ms; undefined for no limit. */
export const consumerTimeoutFor = (longest: number | undefined): number => Math.max(longest ?? 0, CONSUMER_TIMEOUT)

/** What an operator should know at the start. `longest`: the longest that a job may be held, ms; undefined for no limit. */
export const featureWarnings = ({ product, version, consumerTimeout, safeDelays }: Features, longest: number | undefined): string[] => {
  const warnings: string[] = []
  if (product !== 'RabbitMQ') warnings.push(`The broker is ${product} ${version}; prefork is tested with RabbitMQ.`)
  else if (!safeDelays)
    warnings.push(`RabbitMQ ${version} is older than 3.10: its quorum queues cannot hold delayed jobs, so delays and retries fail. Upgrade it.`)
  if (!consumerTimeout && (longest ?? Number.POSITIVE_INFINITY) > DEFAULT_CONSUMER_TIMEOUT)
    warnings.push(
      `${product} ${version} hands a job out again when a node holds it for longer than consumer_timeout (${DEFAULT_CONSUMER_TIMEOUT / 60_000} minutes unless rabbitmq.conf says otherwise), though it still runs here; a node can ask for more only from RabbitMQ 3.12 on. Keep hard time limits below that figure, or raise consumer_timeout.`,
    )
  return warnings
}
