import type { Counts, Delivery, HistoryEntry, JobHeaders } from '../runtime/delivery.js'
import type { Address, Answer, Command } from '../runtime/report/commands.js'
import type { FarmEvent } from '../runtime/report/report.js'

/**
 * The broker of a node. It may push jobs (AMQP) or be polled with a lease that is renewed (Faktory's FETCH, a claim in a database): the
 * node states how many jobs it can hold, and the broker never delivers more.
 */
export interface Broker {
  /** Named in log lines: 'amqp', 'faktory' … */
  readonly kind: string
  /** The queues that jobs are taken from. */
  readonly queues: readonly string[]
  /** Whether the broker is connected now. */
  readonly connected: boolean
  /**
   * Connects, before the workers are started. Rejects for a permanent reason (a refused login, a client library that is not
   * installed). Otherwise tries again, with backoff, until it is connected or `close` is called.
   */
  connect(): Promise<void>
  /**
   * Declares the topology. Rejects for a permanent reason (a queue that exists with other arguments). Otherwise tries again, with
   * backoff, until it is declared or `close` is called.
   */
  start(work?: WorkAhead): Promise<void>
  /**
   * Takes jobs from the node's queues, at most `capacity` unsettled at once. A delivery that is `gone` counts until its `ended` is
   * called, where the broker has that. Recovers by itself from a lost connection, a closed channel and a consumer that the server
   * cancelled. A job that is claimed when there is no capacity for it any more is given back, not delivered.
   */
  consume(capacity: number, receive: (delivery: Delivery) => void): Consumption
  /** Jobs that are ready in the node's queues, without delayed ones. Rejects when the broker cannot be asked. */
  depth(): Promise<number>
  /** Resolves when the broker has taken responsibility for the job. */
  publish(job: OutgoingJob): Promise<void>
  readonly control: NodeControl
  on(event: 'connected' | 'disconnected', listener: (reason?: Error) => void): void
  /** A problem for the operator: a timeout that is too short, a feature that the broker lacks. */
  on(event: 'warning', listener: (message: string) => void): void
  /** Sends every settlement, gives unsettled deliveries back, and closes. */
  close(): Promise<void>
}

/** What the broker's own timeouts must not cut short. */
export interface WorkAhead {
  /** ms that one delivery may stay unsettled: the largest hard time limit of the node and its tasks, plus the grace of a shutdown. Undefined: there is no hard limit. */
  readonly longestDelivery: number | undefined
}

export interface Consumption {
  /** How many deliveries may be unsettled at once from now on. When more are held, none is delivered until enough are settled. */
  setCapacity(capacity: number): void
  /** Nothing is delivered after it resolves. Deliveries held can still be settled. `resume` undoes it. */
  pause(): Promise<void>
  resume(): void
  /** As `pause`, but cannot be undone. */
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
  /** ms until it may be delivered. */
  readonly delay?: number
}

/** The node's side of the control exchange. */
export interface NodeControl {
  /** Sets the handler of commands to this node (by name, or to 'all') with the right secret. What it resolves with is sent to the sender. */
  onCommand(handler: (command: Command) => Promise<unknown>): void
  /** False: no listener is known, and an event that is emitted now is lost. Absent: not known. */
  readonly heard?: boolean
  /** Sends an event to every listener. It is lost without one, and while the broker is not connected. */
  emit(event: FarmEvent): void
}

/** An operator's side of the control exchange, as used by `prefork top` and `prefork control`. */
export interface ControlClient {
  /**
   * Sends a command when the iteration begins, and yields the answers as they arrive. It ends after `timeout` ms (default 2,000) or, for
   * named nodes, when each has answered. When the client is closed, it ends after the answers received so far, or throws BrokerError when
   * the command had not been sent.
   *
   * @throws {TypeError} the address, the command or an option is invalid; thrown by the call itself
   */
  ask(to: Address, command: Command, options?: { timeout?: number }): AsyncIterableIterator<Answer>
  /**
   * Calls `listener` with each event of every node until the function that it resolves with is called. An error that the listener throws
   * is an uncaught exception. Rejects with TypeError when `listener` is no function, and with BrokerError when the client is closed.
   */
  listen(listener: (event: FarmEvent) => void): Promise<() => Promise<void>>
  /** Closes the connection. Later calls are refused with BrokerError. */
  close(): Promise<void>
}
