/** Which queues and exchanges there are, and how each is declared. docs/farm.md draws the picture. */
import type { AmqpChannel } from '../connection/client.js'
import { BrokerError } from '../errors.js'

export const DEFAULT_QUEUE = 'async_farm.jobs'
export const DEFAULT_CONTROL_EXCHANGE = 'async_farm.supervisor'
export const DEFAULT_EVENT_EXCHANGE = 'async_farm.worker'

/** Levels of priority, at the most: each is a queue of its own on quorum queues. */
export const MAX_LEVELS = 10

export type QueueType = 'quorum' | 'classic'

/** How a queue is declared: every node and publisher must say the same. */
export interface QueueShape {
  readonly queueType: QueueType
  /** 1: no priorities. */
  readonly priorityLevels: number
  /** False: queues are taken as they are, and must exist. */
  readonly declare: boolean
}

/** Redeliveries after which a quorum queue gives a message to the dead letters: the net below a node that dies again and again. */
export const DELIVERY_LIMIT = 20

/** Looking at dead letters hands them out and takes them back: RabbitMQ 4 would drop one after 20 looks. */
const DEAD_LETTER_DELIVERY_LIMIT = 1_000_000

/** ms that a delay queue outlives its last message. Declaring it again renews it; see delay-queues.ts. */
export const DELAY_QUEUE_REST = 24 * 60 * 60 * 1_000

export const deadLetterQueue = (queue: string): string => `${queue}.dlq`

/** Priorities as quorum queues had none before RabbitMQ 4.3: a queue for each level above 0. */
export const levelQueue = (queue: string, level: number): string => (level === 0 ? queue : `${queue}.p${level}`)

export const delayQueue = (queue: string, step: number): string => `${queue}.delay.${step}ms`

/** The queues behind one name, the most urgent first. */
export const queuesBehind = (queue: string, shape: QueueShape): string[] => {
  if (shape.queueType === 'classic') return [queue]
  return Array.from({ length: shape.priorityLevels }, (_, i) => levelQueue(queue, shape.priorityLevels - 1 - i))
}

/** The queue of the first level that a node with this shape does not have; undefined when there cannot be one. */
export const levelAbove = (queue: string, { queueType, priorityLevels }: QueueShape): string | undefined =>
  queueType === 'classic' || priorityLevels >= MAX_LEVELS ? undefined : levelQueue(queue, priorityLevels)

/** The level of a priority: whole, and within what there is. */
export const levelOf = (priority: number | undefined, shape: QueueShape): number =>
  priority === undefined || !(priority > 0) ? 0 : Math.min(Math.trunc(priority), shape.priorityLevels - 1)

/** The queue in which a job of this priority waits. */
export const queueFor = (queue: string, priority: number | undefined, shape: QueueShape): string =>
  shape.queueType === 'classic' ? queue : levelQueue(queue, levelOf(priority, shape))

/** Dead-lettering that confirms: a message leaves only when its next queue has it. It asks for `reject-publish`. */
const surely = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }

const jobArguments = (base: string, { queueType, priorityLevels }: QueueShape): Record<string, unknown> => {
  const toDeadLetters = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': deadLetterQueue(base) }
  if (queueType === 'quorum') return { 'x-queue-type': 'quorum', 'x-delivery-limit': DELIVERY_LIMIT, ...toDeadLetters, ...surely }
  return { 'x-queue-type': 'classic', ...toDeadLetters, ...(priorityLevels > 1 ? { 'x-max-priority': priorityLevels - 1 } : undefined) }
}

const deadLetterArguments = ({ queueType }: QueueShape): Record<string, unknown> =>
  queueType === 'quorum' ? { 'x-queue-type': 'quorum', 'x-delivery-limit': DEAD_LETTER_DELIVERY_LIMIT } : { 'x-queue-type': 'classic' }

/** Always a quorum queue, whatever the jobs wait in: a classic one may lose what it passes on. */
const delayArguments = (queue: string, step: number): Record<string, unknown> => ({
  'x-queue-type': 'quorum',
  'x-message-ttl': step,
  'x-expires': step + DELAY_QUEUE_REST,
  'x-dead-letter-exchange': '',
  'x-dead-letter-routing-key': queue,
  ...surely,
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
    return new BrokerError(
      `The queue '${queue}' exists, but not as ${what}. Use the queueType and priorityLevels that it was declared with, take it as it is with declare: false, or delete it (rabbitmqctl delete_queue ${queue}) once it is empty. RabbitMQ said: ${message}`,
      { cause: error },
    )
  if (code === 403)
    return new BrokerError(
      `The user may not declare the queue '${queue}': grant it (rabbitmqctl set_permissions), or use declare: false. RabbitMQ said: ${message}`,
      {
        cause: error,
      },
    )
  if (code === 404)
    return new BrokerError(`There is no queue '${queue}', and declare: false says not to make it: declare it, or leave that option out.`, { cause: error })
  return error
}

/** Makes the queue `queue` (one of those behind `base`) and its dead letters, unless they are there. Rejects with BrokerError when they differ. */
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

/** All queues behind one name. */
export const declareQueue = async (channel: AmqpChannel, base: string, shape: QueueShape): Promise<void> => {
  for (const queue of queuesBehind(base, shape)) await declareJobQueue(channel, base, queue, shape)
}

export const declareDelayQueue = (channel: AmqpChannel, queue: string, step: number): Promise<void> =>
  declare(channel, delayQueue(queue, step), delayArguments(queue, step), `a queue of jobs that wait ${step} ms`)

export const declareExchanges = async (channel: AmqpChannel, control: string, events: string): Promise<void> => {
  for (const [name, type] of [
    [control, 'fanout'],
    [events, 'direct'],
  ] as const) {
    try {
      await channel.assertExchange(name, type, { durable: true })
    } catch (error) {
      if ((error as { code?: number }).code !== 406) throw error
      throw new BrokerError(
        `The exchange '${name}' exists, but not as a durable ${type} exchange: name another, or delete it. RabbitMQ said: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    }
  }
}
