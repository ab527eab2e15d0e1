/** The queues and exchanges, and how each is declared. docs/farm.md has a diagram. */
import type { AmqpChannel } from '../connection/client.js'
import { BrokerError, brokerErrorIn } from '../errors.js'

export const DEFAULT_QUEUE = 'async_farm.jobs'
export const DEFAULT_CONTROL_EXCHANGE = 'async_farm.supervisor'
export const DEFAULT_EVENT_EXCHANGE = 'async_farm.worker'

/** The content type of what goes over both exchanges. */
export const JSON_TYPE = 'application/json'
/** The key under which every event is published to the direct exchange. */
export const EVENT_KEY = 'event'
/** The key of the direct exchange under which a node asks the others. A node that answers is bound to it: without one, RabbitMQ returns the message. */
export const NODES_KEY = 'nodes'

/** Levels of priority at most. With quorum queues each level is a queue of its own. */
export const MAX_LEVELS = 10

export type QueueType = 'quorum' | 'classic'

/** How a queue is declared: the same for every node and publisher. */
export interface QueueShape {
  readonly queueType: QueueType
  /** 1: no priorities. */
  readonly priorityLevels: number
  /** False: queues are used as they are, and must exist. */
  readonly declare: boolean
}

/** Redeliveries after which a quorum queue dead-letters a message: stops a message that kills its node each time. */
const DELIVERY_LIMIT = 20

/** `listDeadLetters` gets messages and requeues them: with its default limit, RabbitMQ 4 would drop a message after 20 listings. */
const DEAD_LETTER_DELIVERY_LIMIT = 1_000_000

/** ms after its step that an unused delay queue expires. A declaration renews it; see delay-queues.ts. */
const DELAY_QUEUE_EXPIRY = 24 * 60 * 60 * 1_000

export const deadLetterQueue = (queue: string): string => `${queue}.dlq`

/** Quorum queues had no priorities before RabbitMQ 4.3: each level above 0 is a queue of its own. */
const levelQueue = (queue: string, level: number): string => (level === 0 ? queue : `${queue}.p${level}`)

export const delayQueue = (queue: string, step: number): string => `${queue}.delay.${step}ms`

/** The queues behind one name, the highest priority first. */
export const queuesBehind = (queue: string, shape: QueueShape): string[] => {
  if (shape.queueType === 'classic') return [queue]
  return Array.from({ length: shape.priorityLevels }, (_, i) => levelQueue(queue, shape.priorityLevels - 1 - i))
}

/** The queue of the first level above those of this shape; undefined when there is none. */
export const levelAbove = (queue: string, { queueType, priorityLevels }: QueueShape): string | undefined =>
  queueType === 'classic' || priorityLevels >= MAX_LEVELS ? undefined : levelQueue(queue, priorityLevels)

/** The level of a priority: an integer from 0 to `priorityLevels` - 1. */
export const levelOf = (priority: number | undefined, shape: QueueShape): number =>
  priority === undefined || !(priority > 0) ? 0 : Math.min(Math.trunc(priority), shape.priorityLevels - 1)

/** The queue in which a job of this priority waits. */
export const queueFor = (queue: string, priority: number | undefined, shape: QueueShape): string =>
  shape.queueType === 'classic' ? queue : levelQueue(queue, levelOf(priority, shape))

/** Dead-lettering with confirms: a message leaves its queue only when the next one has stored it. It requires `reject-publish`. */
const atLeastOnce = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }

const jobArguments = (base: string, { queueType, priorityLevels }: QueueShape): Record<string, unknown> => {
  const toDeadLetters = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': deadLetterQueue(base) }
  if (queueType === 'quorum') return { 'x-queue-type': 'quorum', 'x-delivery-limit': DELIVERY_LIMIT, ...toDeadLetters, ...atLeastOnce }
  return { 'x-queue-type': 'classic', ...toDeadLetters, ...(priorityLevels > 1 ? { 'x-max-priority': priorityLevels - 1 } : undefined) }
}

const deadLetterArguments = ({ queueType }: QueueShape): Record<string, unknown> =>
  queueType === 'quorum' ? { 'x-queue-type': 'quorum', 'x-delivery-limit': DEAD_LETTER_DELIVERY_LIMIT } : { 'x-queue-type': 'classic' }

/** A quorum queue for every type of job queue: a classic queue may lose messages that it dead-letters. */
const delayArguments = (queue: string, step: number): Record<string, unknown> => ({
  'x-queue-type': 'quorum',
  'x-message-ttl': step,
  'x-expires': step + DELAY_QUEUE_EXPIRY,
  'x-dead-letter-exchange': '',
  'x-dead-letter-routing-key': queue,
  ...atLeastOnce,
})

const declare = async (channel: AmqpChannel, queue: string, given: Record<string, unknown>, what: string): Promise<void> => {
  try {
    await channel.assertQueue(queue, { durable: true, arguments: given })
  } catch (error) {
    throw declareError(queue, what, error)
  }
}

const declareError = (queue: string, what: string, error: unknown): unknown => {
  const { code, message } = error as { code?: number; message?: string }
  if (code === 406)
    return brokerErrorIn(
      ({ declaration, noDeclare }) =>
        `The queue '${queue}' exists, but not as ${what}. Use the ${declaration} that it was declared with, ${noDeclare === undefined ? '' : `take it as it is with ${noDeclare}, `}or delete it (rabbitmqctl delete_queue ${queue}) once it is empty. RabbitMQ said: ${message}`,
      error,
    )
  if (code === 403)
    return brokerErrorIn(
      ({ noDeclare }) =>
        `The user may not declare the queue '${queue}': grant it (rabbitmqctl set_permissions)${noDeclare === undefined ? '' : `, or use ${noDeclare}`}. RabbitMQ said: ${message}`,
      error,
    )
  if (code === 404)
    return new BrokerError(`There is no queue '${queue}', and declare: false says not to make it: declare it, or leave that option out.`, { cause: error })
  return error
}

/** Declares `queue` (one of the queues behind `base`) and the dead-letter queue. Rejects with BrokerError when one exists with other arguments. */
export const declareJobQueue = async (channel: AmqpChannel, base: string, queue: string, shape: QueueShape): Promise<void> => {
  if (!shape.declare) {
    try {
      await channel.checkQueue(queue)
    } catch (error) {
      throw declareError(queue, '', error)
    }
    return
  }
  const kind = shape.priorityLevels > 1 ? `a ${shape.queueType} queue with ${shape.priorityLevels} levels of priority` : `a ${shape.queueType} queue`
  await declare(channel, deadLetterQueue(base), deadLetterArguments(shape), `the ${shape.queueType} queue of dead letters`)
  await declare(channel, queue, jobArguments(base, shape), `${kind} of jobs`)
}

/** Declares all queues behind one name. */
export const declareQueue = async (channel: AmqpChannel, base: string, shape: QueueShape): Promise<void> => {
  for (const queue of queuesBehind(base, shape)) await declareJobQueue(channel, base, queue, shape)
}

export const declareDelayQueue = (channel: AmqpChannel, queue: string, step: number): Promise<void> =>
  declare(channel, delayQueue(queue, step), delayArguments(queue, step), `a queue of jobs that wait ${step} ms`)

export const declareExchanges = async (channel: AmqpChannel, control: string, events: string): Promise<void> => {
  await declareExchange(channel, control, 'fanout')
  await declareExchange(channel, events, 'direct')
}

const declareExchange = async (channel: AmqpChannel, name: string, type: 'fanout' | 'direct'): Promise<void> => {
  try {
    await channel.assertExchange(name, type, { durable: true })
  } catch (cause) {
    const { code, message } = cause as { code?: number; message?: string }
    if (code !== 406) throw cause
    throw new BrokerError(`The exchange '${name}' exists, but not as a durable ${type} exchange: name another, or delete it. RabbitMQ said: ${message}`, {
      cause,
    })
  }
}
