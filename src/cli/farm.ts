import type { DeadLetter as QueuedDeadLetter } from '../amqp/operations/dead-letters.js'
import type { PublishJobOptions } from '../amqp/publishing/publish-options.js'
import type { PublishJobOptions as FaktoryJobOptions } from '../faktory/publishing/publish-options.js'
import type { ControlClient } from '../node/broker.js'
import type { FarmNode, NodeOptions } from '../node/types.js'
import type { Queue } from '../queue/index.js'
import type { Counts, HistoryEntry } from '../runtime/delivery.js'
import type { BrokerSettings } from './settings/broker.js'

/** Those of the other broker are undefined. */
export type PublishOptions = Pick<PublishJobOptions, 'delay' | 'priority' | 'ttl' | 'softTimeLimit' | 'timeLimit' | 'maxAttempts' | 'correlationId'> &
  Pick<FaktoryJobOptions, 'retry' | 'reserveFor' | 'backtrace' | 'custom' | 'jid'>

export type CallOutcome =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The broker has not confirmed the job in time. */
  | { readonly kind: 'unconfirmed' }
  | { readonly kind: 'timeout'; readonly job?: UnfinishedJob | undefined }

/** What a broker that stores jobs knows of one. */
export interface UnfinishedJob {
  readonly id: string
  readonly state: string
  /** Of its last attempt, if it has failed. */
  readonly error: string | undefined
}

export interface FarmPublisher {
  /** Resolves with the job's id when the broker has confirmed it; with undefined when it has such a job already, and takes no second. */
  publish(name: string, args: readonly unknown[], options: PublishOptions): Promise<string | undefined>
  /** Rejects when the job could not be published. `timeout`: ms to wait for the result. */
  call(name: string, args: readonly unknown[], options: PublishOptions & { timeout: number }): Promise<CallOutcome>
  close(): Promise<void>
}

export interface DeadLetter extends Counts, Pick<QueuedDeadLetter, 'id' | 'queue' | 'reason' | 'at' | 'node'> {
  readonly task: string | undefined
  readonly args: readonly unknown[] | undefined
  readonly error: string
  /** Of the error, if its node has stored one. */
  readonly stack: string | undefined
  /** The runs that failed or were lost, newest last. */
  readonly attempts: readonly HistoryEntry[]
}

/** The broker, as the command line uses it. All methods reject with CommandError `EXIT.broker` when it cannot be reached, except `createNode`, which retries. */
export interface Farm {
  createNode(broker: BrokerSettings, options: NodeOptions): Promise<FarmNode>
  /** `timeout`: ms to reach the broker, and to publish. */
  createPublisher(broker: BrokerSettings, options: { timeout: number }): Promise<FarmPublisher>
  createControlClient(broker: BrokerSettings, options: { timeout: number }): Promise<ControlClient>
  /** The oldest dead letters of one queue. */
  listDeadLetters(broker: BrokerSettings, queue: string, options: { limit: number }): Promise<DeadLetter[]>
  /** How many dead letters there are, in all queues. Present where the broker cannot list them. */
  countDeadLetters?(broker: BrokerSettings): Promise<number>
  /** Resolves with the number of dead letters that went back. */
  retryDeadLetters(broker: BrokerSettings, queue: string, options: { ids?: readonly string[] }): Promise<number>
  /** Resolves with the number of messages that were removed. `dead`: the dead letters instead of the jobs. */
  purge(broker: BrokerSettings, queue: string, options: { dead: boolean }): Promise<number>
  /** Opens a queue that has its jobs in a file, and closes it after `use`. Absent: the broker has none. */
  withQueue?<T>(broker: BrokerSettings, queue: string, use: (queue: Queue) => Promise<T>): Promise<T>
}
