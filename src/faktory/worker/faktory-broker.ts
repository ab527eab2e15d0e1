import { EventEmitter } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { Broker, Consumption, QueueBacklog, WorkAhead } from '../../node/broker.js'
import { RetryWarnings } from '../../node/connection/retry-warnings.js'
import { ControlSocket } from '../../node/control/control-socket.js'
import type { Delivery } from '../../runtime/delivery.js'
import { CommandConnections } from '../connection/command-connections.js'
import type { ConnectionSettings } from '../connection/connection.js'
import type { Endpoint } from '../connection/open-socket.js'
import { readInfo } from '../operations/server-info.js'
import { UNSUPPORTED } from '../options.js'
import type { WorkerIdentity } from '../protocol/greeting.js'
import type { PasswordHashes } from '../protocol/password-hash.js'
import { type DeliveryContext, FaktoryDelivery } from './delivery.js'
import { type FetchedJob, Fetchers } from './fetchers.js'
import { Heartbeat, type WorkerState } from './heartbeat.js'
import { AFTER_RESERVATION, readJob } from './job.js'
import type { QueueOrder } from './queue-order.js'
import { Reports } from './reports.js'

export interface FaktorySettings extends Endpoint {
  readonly hashes: PasswordHashes | undefined
  readonly identity: WorkerIdentity
  readonly queues: QueueOrder
  /** Connections that fetch at once, at most. */
  readonly fetchers: number
  /** ms */
  readonly reserveMargin: number
  /** ms between two beats. */
  readonly beatInterval: number
  /** Bytes */
  readonly maxBodySize: number
  /** The real path beside which the control socket lies. */
  readonly control: string | undefined
  /** The name of the node. */
  readonly name: string
}

/**
 * Connections for ACK, FAIL, BEAT and INFO for each one that may fetch, at most. The server answers the commands of a connection one after another, each after a
 * write to its storage: one connection carries some 3,000 acknowledgements a second, fewer than ten that fetch bring jobs without work.
 */
const COMMAND_SHARE = 0.5
/** Reports that may be open before nothing more is fetched. */
const MAX_OPEN_REPORTS = 1_000
/** ms that the close has by default, and those of them that are kept for what is still to be reported. */
const CLOSE_TIMEOUT = 5_000
const REPORT_TIMEOUT = 300

const count = (number: number, one: string, more: string): string => `${number} ${number === 1 ? one : more}`

/** A Faktory server as the broker of a node. */
export class FaktoryBroker extends EventEmitter implements Broker {
  readonly kind = 'faktory'
  readonly queues: readonly string[]
  readonly unsupported = UNSUPPORTED
  readonly retries = true
  readonly canRequeue = false
  readonly control: ControlSocket
  readonly #settings: FaktorySettings
  readonly #connection: ConnectionSettings
  readonly #commands: CommandConnections
  readonly #reports: Reports
  readonly #warnings = new RetryWarnings((message) => this.emit('warning', message))
  #connecting: Promise<void> | undefined
  #work: WorkAhead | undefined
  #heartbeat: Heartbeat | undefined
  #fetchers: Fetchers | undefined
  /** What the server asked for before the node could obey. */
  #wanted: WorkerState | undefined

  constructor(settings: FaktorySettings) {
    super()
    const { address, tls, hashes, identity, queues, name, fetchers } = settings
    const warn = (message: string): void => this.#warnings.warn(message)
    this.#settings = settings
    this.queues = queues.names
    this.control = new ControlSocket(name, warn)
    this.#connection = { address, tls, hashes, identity, warn }
    this.#commands = new CommandConnections({
      ...this.#connection,
      connections: Math.ceil(COMMAND_SHARE * fetchers),
      // Every report has a place: fetching stops before there are too many.
      maxWaiting: Number.POSITIVE_INFINITY,
    })
    this.#reports = new Reports(this.#commands, MAX_OPEN_REPORTS, () => this.#fetchers?.wake())
    this.#commands
      .on('up', () => {
        this.#fetchers?.connect()
        this.emit('connected')
      })
      .on('down', (reason) => this.emit('disconnected', reason))
      .on('retry', (error) => warn(`Faktory cannot be reached, and is tried again: ${error.message}`))
  }

  get connected(): boolean {
    return this.#commands.connected && this.#fetchers?.connected !== false
  }

  connect(): Promise<void> {
    this.#connecting ??= this.#connect()
    return this.#connecting
  }

  async #connect(): Promise<void> {
    const { control, identity, beatInterval } = this.#settings
    if (control !== undefined) await this.control.open(control)
    await this.#commands.start()
    // From the first HELLO on.
    this.#heartbeat = new Heartbeat(this.#commands, {
      wid: identity.wid,
      interval: beatInterval,
      memory: () => this.#work?.memory() ?? process.memoryUsage.rss(),
      state: () => this.#work?.state() ?? 'starting',
      obey: (state) => this.#obey(state),
      warn: (message) => this.#warnings.warn(message),
    })
  }

  async start(work?: WorkAhead): Promise<void> {
    this.#work = work
    await this.connect()
  }

  /** The server asks the worker to take no more jobs, or to end. It goes on serving other connections than the first: the node stops by itself. */
  #obey(state: WorkerState): void {
    if (this.#fetchers === undefined) {
      this.#wanted = state
      return
    }
    this.emit('warning', state === 'quiet' ? 'Faktory asks this worker to take no more jobs.' : 'Faktory asks this worker to end.')
    const command = state === 'quiet' ? 'quiet' : 'shutdown'
    // It shuts down already, or it is asked for what it does.
    this.control.command({ command }).catch(() => {})
  }

  consume(capacity: number, receive: (delivery: Delivery) => void): Consumption {
    const { queues, fetchers, reserveMargin, maxBodySize, identity } = this.#settings
    const warn = (message: string): void => this.#warnings.warn(message)
    const context: DeliveryContext = {
      wid: identity.wid,
      reports: this.#reports,
      reserveMargin,
      maxBodySize,
      warn: (message) => this.emit('warning', message),
    }
    const consumption = new Fetchers(capacity, {
      connections: fetchers,
      connection: this.#connection,
      queues,
      receive: (job) => this.#receive(job, context, receive),
      mayFetch: () => !this.#reports.isFull,
      mayConnect: () => this.#commands.connected,
      warn,
    })
    this.#fetchers = consumption
    if (this.#wanted !== undefined) this.#obey(this.#wanted)
    return consumption
  }

  #receive({ payload, fetchedAt, release }: FetchedJob, context: DeliveryContext, receive: (delivery: Delivery) => void): void {
    let delivery: FaktoryDelivery
    try {
      delivery = new FaktoryDelivery(readJob(payload), { size: Buffer.byteLength(payload), fetchedAt }, context, release)
    } catch (error) {
      // Without a jid nothing can be reported.
      this.emit('warning', (error as Error).message)
      release()
      return
    }
    receive(delivery)
  }

  async depth(): Promise<number> {
    return (await this.backlog()).reduce((sum, { ready }) => sum + ready, 0)
  }

  /** The server does not tell who fetches from a queue. Its connections are those of all workers and publishers: this node's part of them is the least that its share can be. */
  async backlog(): Promise<QueueBacklog[]> {
    const { faktory, server } = readInfo(await this.#commands.command('INFO'))
    const connections = Number(server?.connections)
    const own = this.#commands.size + (this.#fetchers?.size ?? 0)
    const share = connections > 0 ? Math.min(1, Math.max(1, own) / connections) : undefined
    return this.queues.map((queue) => ({ queue, ready: Number(faktory?.queues?.[queue] ?? 0) || 0, share }))
  }

  async close(within = CLOSE_TIMEOUT): Promise<void> {
    const endsAt = performance.now() + within
    const left = (): number => Math.max(0, endsAt - performance.now())
    const controlClosed = this.control.close()
    // Before the reports: what a FETCH still brings is reported, too.
    const unanswered = (await this.#fetchers?.close(Math.max(0, within - REPORT_TIMEOUT))) ?? 0
    if (unanswered > 0)
      this.emit(
        'warning',
        `${count(unanswered, 'FETCH was', 'FETCHes were')} not answered before the end: a job that Faktory hands out for one is reserved. ${AFTER_RESERVATION}`,
      )
    const open = await this.#reports.close(left())
    if (open > 0) this.emit('warning', `${count(open, 'job', 'jobs')} ended and could not be reported, as Faktory does not answer. ${AFTER_RESERVATION}`)
    this.#heartbeat?.stop()
    await Promise.all([this.#commands.close(left()), controlClosed])
  }
}
