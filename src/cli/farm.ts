import type { Logger } from 'pino'
import type { ControlClient } from '../brokers/broker.js'
import type { FarmNode, NodeOptions } from '../brokers/node/types.js'
import type { BrokerSettings } from './settings/broker.js'

export interface PublishOptions {
  readonly delay?: number
  readonly priority?: number
  readonly ttl?: number
  readonly softTimeLimit?: number
  readonly timeLimit?: number
  readonly maxAttempts?: number
  readonly correlationId?: string
}

export interface FarmPublisher {
  /** Resolves with the message's id once the broker has it. */
  publish(name: string, args: readonly unknown[], options?: PublishOptions): Promise<string>
  /** Resolves with the task's result, rejects with its error. */
  call(name: string, args: readonly unknown[], options?: PublishOptions & { signal?: AbortSignal }): Promise<unknown>
  close(): Promise<void>
}

export interface DeadLetter {
  readonly id: string | undefined
  readonly task: string | undefined
  readonly queue: string
  readonly reason: string
  readonly error: string
  /** ms since the epoch. */
  readonly at: number | undefined
  readonly attempts: number
  readonly losses: number
}

/** What the command line needs of a broker. */
export interface Farm {
  createNode(broker: BrokerSettings, options: NodeOptions): Promise<FarmNode>
  createPublisher(broker: BrokerSettings, options: { timeout: number; logger: Logger }): Promise<FarmPublisher>
  createControlClient(broker: BrokerSettings): Promise<ControlClient>
  listDeadLetters(broker: BrokerSettings, options: { limit: number }): Promise<DeadLetter[]>
  /** Resolves with how many went back to their queues. */
  retryDeadLetters(broker: BrokerSettings, options: { ids?: readonly string[] }): Promise<number>
  /** Resolves with how many messages were removed. */
  purge(broker: BrokerSettings, queue: string): Promise<number>
}
