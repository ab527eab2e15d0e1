import type { Delivery } from '../runtime/delivery.js'
import type { Address, Answer, Command, RevocationsMessage, SpentMessage } from '../runtime/report/commands.js'
import type { FarmEvent, NodeStats } from '../runtime/report/report.js'
import type { NodeOptions } from './types.js'

/**
 * The broker of a node. It may push jobs (AMQP), or be asked for them, under a lease that it renews (a claim in a database) or one that ends
 * (Faktory's FETCH): the node states how many jobs it can hold, and the broker never delivers more.
 */
export interface Broker {
  /** Named in log lines: 'amqp', 'faktory' … */
  readonly kind: string
  /** The queues that jobs are taken from. */
  readonly queues: readonly string[]
  /** Options of a node that this broker cannot keep, each with the reason: they are refused by name. Default none. */
  readonly unsupported?: Partial<Readonly<Record<keyof NodeOptions, string>>>
  /** True: it tries jobs again, and keeps those that are dead, by its own rules. The node's retry policy is off. Default false. */
  readonly retries?: boolean
  /**
   * False: a job that was delivered cannot go back as it is. It runs, also after a pause and while the node shuts down, and where it is held ahead of a free
   * slot. A job that waits for a rate limit takes up room. Only what has not ended with the grace is settled as requeued. Default true.
   */
  readonly canRequeue?: boolean
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
   * Takes jobs from the node's queues, at most `capacity` unsettled at once. A delivery counts until it is settled. If its `gone` aborts
   * before that, it counts until its `ended` is called; without an `ended` it no longer counts. Recovers by itself from a lost
   * connection, a closed channel and a consumer that the server cancelled. A job that is claimed when there is no capacity for it any more is given back, not delivered.
   * `giveBack` settles, as requeued, what was delivered from a queue and has not begun: for a queue that was paused. `slots`: how many of the jobs can run at
   * once (default all). A broker that has to divide `capacity` among consumers gives each of them room for all of these.
   */
  consume(capacity: number, receive: (delivery: Delivery) => void, giveBack: (queue: string) => void, slots?: number): Consumption
  /** Jobs that are ready in the node's queues, without delayed ones and those of a paused queue. Rejects when the broker cannot be asked. */
  depth(): Promise<number>
  /**
   * The same for each queue, with what is known of the other nodes: asked in place of `depth` where it is there, four times a second while each slot is taken
   * (more often with a `scaleUpAfter` below 250 ms). Absent: others may consume the queues, and how many is not known.
   */
  backlog?(): Promise<readonly QueueBacklog[]>
  /**
   * Limits how often jobs of a queue are taken, by all nodes together; null lifts it. Absent: the node limits itself, and holds the jobs
   * that wait. Rejects when it cannot be set.
   */
  limit?(queue: string, rate: string | null): Promise<void>
  readonly control: NodeControl
  on(event: 'connected' | 'disconnected', listener: (reason?: Error) => void): void
  /** A problem for the operator: a timeout that is too short, a feature that the broker lacks. */
  on(event: 'warning', listener: (message: string) => void): void
  /**
   * Sends every settlement, gives unsettled deliveries back, and closes. `within`: ms that are left of a shutdown, given where `canRequeue` is false. Absent:
   * the broker bounds it by itself.
   */
  close(within?: number): Promise<void>
}

/** What waits in a queue of the node. */
export interface QueueBacklog {
  readonly queue: string
  /** Jobs that are ready. */
  readonly ready: number
  /** This node's share of the consumers of the queue, above 0: 1 where it is the only one, 0.5 where there are two. Undefined: not known. */
  readonly share: number | undefined
}

/** The node that the broker works for, and the work that the broker's own timeouts must not cut short. */
export interface WorkAhead {
  /** ms that one delivery may stay unsettled: the largest hard time limit of the node and its tasks, plus the grace of a shutdown. Undefined: there is no hard limit. */
  readonly longestDelivery: number | undefined
  /** What the broker may tell of the node: resident memory of the node and its workers, bytes. */
  memory(): number
  state(): NodeStats['state']
}

export interface Consumption {
  /** How many deliveries may be unsettled at once from now on, and how many of them can run (default all). When more are held, none is delivered until enough are settled. */
  setCapacity(capacity: number, slots?: number): void
  /** Nothing is delivered after it resolves. Deliveries held can still be settled. `resume` undoes it. */
  pause(): Promise<void>
  resume(): void
  /** As `pause`, but cannot be undone. */
  stop(): Promise<void>
}

/** The node's side of the control exchange. */
export interface NodeControl {
  /** Sets the handler of commands to this node (by name, or to 'all') with the right secret. The value that it resolves with is sent to the sender. */
  onCommand(handler: (command: Command) => Promise<unknown>): void
  /** Sends a command to all nodes, this one included. Best effort: it is lost while the broker is not connected. Absent: each node is alone. */
  tellNodes?(message: SpentMessage): void
  /**
   * Asks the other nodes: each executes the message as a command, and what it answers goes to `receive`, whenever it comes. Resolves when no
   * further answer is expected: at once where no other node is there, and after `timeout` ms at the latest. Never rejects. A broker may ask again
   * after it was disconnected. Absent: each node is alone.
   */
  askNodes?(message: RevocationsMessage, receive: (answer: unknown) => void, timeout: number): Promise<void>
  /** False: no listener is known, and an event that is emitted now is lost. Absent: not known. */
  readonly heard?: boolean
  /** Sends an event to every listener. It is lost without one, and while the broker is not connected. */
  emit(event: FarmEvent): void
}

/** An operator's side of control, as used by `prefork top` and `prefork control`. */
export interface ControlClient {
  /**
   * Sends a command when the iteration begins, and yields the answers as they arrive. It ends after `timeout` ms (default 2,000) or, for
   * named nodes, when each has answered. When the client is closed, it ends after the answers received so far, or throws BrokerError when
   * the command had not been sent. Where the nodes are known, it returns how many are there and have not answered; for await leaves that out.
   *
   * @throws {TypeError} the address, the command or an option is invalid; thrown by the call itself
   */
  ask(to: Address, command: Command, options?: { timeout?: number }): AsyncIterableIterator<Answer>
  /**
   * Calls `listener` with each event of every node until the function that it resolves with is called. An error that the listener throws
   * is an uncaught exception. Rejects with TypeError when `listener` is no function, and with BrokerError when the client is closed.
   */
  listen(listener: (event: FarmEvent) => void): Promise<() => Promise<void>>
  /** False while its connection is lost: no event arrives. Absent where there is no such connection. */
  readonly connected?: boolean
  /** Closes the connection. Later calls are refused with BrokerError. */
  close(): Promise<void>
}
