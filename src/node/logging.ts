import type { PoolLogger } from '../pool/types.js'
import type { Broker } from './broker.js'

/** What the pool logs of jobs, the runtime logs with more to tell. */
const ofJobs = (details: object, message: string): boolean => 'stream' in details || message.startsWith('job ')

/** The logger for the pool: the same, without the lines that the node writes itself. */
export const poolLogger = (logger: PoolLogger | undefined): PoolLogger | undefined => {
  if (logger === undefined) return undefined
  const call =
    (level: keyof PoolLogger) =>
    (details: object, message: string): void => {
      if (!ofJobs(details, message)) logger[level](details, message)
    }
  return { trace: call('trace'), debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}

export const logBroker = (broker: Broker, logger: PoolLogger | undefined): void => {
  broker.on('connected', () => logger?.info({ broker: broker.kind }, 'broker connected'))
  broker.on('disconnected', (err) => logger?.warn({ broker: broker.kind, err }, 'broker connection lost'))
  broker.on('warning', (message) => logger?.warn({ broker: broker.kind }, message))
}
