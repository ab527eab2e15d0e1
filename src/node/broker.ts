import type { Counts, Delivery, HistoryEntry, JobHeaders } from '../runtime/delivery.js'
import type { Address, Answer, Command } from '../runtime/report/commands.js'
import type { FarmEvent, FarmEventBody } from '../runtime/report/report.js'

/**
 * One broker, as a node sees it. Those that push (AMQP) and those that one pulls from with a lease to renew (Faktory's FETCH,
 * a claim in a database) both fit: the node states how much it can hold, and the broker never hands out more.
 */
export interface Broker {
  /** For logs: 'amqp', 'faktory' … */
  readonly kind: string
  /** The queues it takes jobs from. */
  readonly queues: readonly string[]
  /** Whether it can be reached just now. */
  readonly connected: boolean
  /**
   * Connects. Comes before the workers are started: rejects for a reason that does not pass (a refused login, a client that is not
   * installed); otherwise keeps trying, with backoff, until `close`.
   */
  connect(): Promise<void>
  /**
   * Makes the topology, once connected. Rejects when that is impossible for a reason that does not pass (a queue that exists with
   * other arguments); otherwise keeps trying, with backoff, until `close`.
   */
  start(about?: WorkAhead): Promise<void>
  /**
   * Takes jobs from the node's queues, at most `capacity` unsettled at once (one that is gone counts until its `ended` is called, where
   * the broker has that); survives everything that does not pass by itself:
   * a lost connection, a dead channel, a consumer that the server cancelled. A claim that is answered when there is no room for
   * it any more is given back, not handed over.
   */
  consume(capacity: number, receive: (delivery: Delivery) => void): Consumption
  /** Jobs ready to be taken in the node's queues, delayed ones not counted. Rejects when the broker cannot be asked. */
  depth(): Promise<number>
  /** Resolves when the broker has taken responsibility for the job. */
  publish(job: OutgoingJob): Promise<void>
  readonly control: NodeControl
  on(event: 'connected' | 'disconnected', listener: (reason?: Error) => void): void
  /** Something the operator should know: a setting that is too short, a feature the broker lacks. */
  on(event: 'warning', listener: (message: string) => void): void
  /** Gives back what is unsettled and closes. Everything settled has reached the broker by then. */
  close(): Promise<void>
}

/** What the broker's own timeouts must leave room for. */
export interface WorkAhead {
  /** ms that one delivery may stay unsettled: the largest hard limit of the node and its tasks, and the grace of a shutdown. Undefined: there is no hard limit. */
  readonly longestDelivery: number | undefined
}

export interface Consumption {
  /** How many deliveries may be held from now on. Fewer than are held: no more come until they are settled. */
  setCapacity(capacity: number): void
  /** No delivery is handed over after it resolves; those held can still be settled. May be followed by `resume`. */
  pause(): Promise<void>
  resume(): void
  /** As `pause`, for good. */
  stop(): Promise<void>
}

/** A job on its way to a queue. */
export interface OutgoingJob {
  readonly id: string
  readonly queue: string
  readonly body: Buffer
  readonly headers: Partial<JobHeaders>
  readonly counts: Counts
  readonly history?: readonly HistoryEntry[]
  /** ms until it may be taken. */
  readonly delay?: number
}

/** A node's end of the control exchange. */
export interface NodeControl {
  /** Commands addressed to this node, by name or by 'all', whose secret was right. The answer goes to whoever asked. */
  onCommand(handler: (command: Command) => Promise<unknown>): void
  /** False: nobody listens, as far as is known, and what is emitted now would be lost. Absent: that cannot be told. */
  readonly heard?: boolean
  /** Tells everybody who listens; lost when nobody does or the broker is away. */
  emit(event: FarmEvent): void
}

/** An operator's end of the control exchange: `prefork top`, `prefork control`. */
export interface ControlClient {
  /**
   * Sends a command when the first answer is asked for, and yields the answers as they come, until `timeout` ms or, for named nodes,
   * until each has answered. `close` ends it: after those that have come where it was sent, with an error where it was not.
   *
   * @throws {TypeError} an address, a command or an option that cannot be used; at once
   */
  ask(to: Address, command: Command, options?: { timeout?: number }): AsyncIterableIterator<Answer>
  /**
   * Calls `listener` with each event of every node until the function it resolves with is called. What a listener throws is an uncaught
   * exception. Rejects with TypeError for what is no function, and when the client is closed.
   */
  listen(listener: (event: FarmEvent) => void): Promise<() => Promise<void>>
  /** What is asked of it later is refused. */
  close(): Promise<void>
}

export type { FarmEvent, FarmEventBody }
