import type { ControlClient } from '../node/broker.js'
import type { FarmNode, NodeOptions } from '../node/types.js'
import type { BrokerSettings } from './settings/broker.js'

/** Times in ms. */
export interface PublishOptions {
  readonly delay?: number
  readonly priority?: number
  readonly ttl?: number
  readonly softTimeLimit?: number
  readonly timeLimit?: number
  readonly maxAttempts?: number
  readonly correlationId?: string
}

export type CallOutcome =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'timeout' }

export interface FarmPublisher {
  /** Resolves with the job's id when the broker has confirmed it. */
  publish(name: string, args: readonly unknown[], options: PublishOptions): Promise<string>
  /** Rejects when the job could not be published. `timeout`: ms to wait for the result. */
  call(name: string, args: readonly unknown[], options: PublishOptions & { timeout: number }): Promise<CallOutcome>
  close(): Promise<void>
}

export interface DeadLetter {
  readonly id: string | undefined
  readonly task: string | undefined
  readonly args: readonly unknown[] | undefined
  readonly queue: string
  readonly reason: string
  readonly error: string
  /** ms since the epoch. */
  readonly at: number | undefined
  readonly node: string | undefined
  readonly attempt: number
  readonly losses: number
  readonly requeues: number
}

/** The broker, as the command line uses it. All methods reject with CommandError `EXIT.broker` when it cannot be reached, except `createNode`, which retries. */
export interface Farm {
  createNode(broker: BrokerSettings, options: NodeOptions): Promise<FarmNode>
  /** `timeout`: ms to reach the broker, and to publish. */
  createPublisher(broker: BrokerSettings, options: { timeout: number }): Promise<FarmPublisher>
  createControlClient(broker: BrokerSettings, options: { timeout: number }): Promise<ControlClient>
  /** The oldest dead letters of one queue. */
  listDeadLetters(broker: BrokerSettings, queue: string, options: { limit: number }): Promise<DeadLetter[]>
  /** Resolves with the number of dead letters that went back. */
  retryDeadLetters(broker: BrokerSettings, queue: string, options: { ids?: readonly string[] }): Promise<number>
  /** Resolves with the number of messages that were removed. `dead`: the dead letters instead of the jobs. */
  purge(broker: BrokerSettings, queue: string, options: { dead: boolean }): Promise<number>
}
