import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createNode, type FarmNode, type NodeOptions } from '../node/index.js'
import { defaultNodeName, NODE_OPTIONS } from '../node/options.js'
import { arrayOf, type Check, countFrom, milliseconds, millisecondsOrZero, OptionError, plainObject, refusal, refuseUnknownNames } from '../util/checks.js'
import { namesOf, type OptionTable, option, readKnown } from '../util/option-table.js'
import { CONTROL_OPTIONS, type ControlOptions, controlPath } from './control/control-path.js'
import { CONNECTION_OPTIONS, type ConnectionOptions, endpointOf, UNSUPPORTED } from './options.js'
import { FaktoryBroker } from './worker/faktory-broker.js'
import { DEFAULT_QUEUE, type QueueList, QueueOrder, queueList, queueName } from './worker/queue-order.js'

/** Options of a node that Faktory has no use for; they are refused with the reason. */
type Refused = 'maxAttempts' | 'backoff' | 'taskDefaults' | 'unknownTask' | 'unknownTaskTimeout'

/** Times in milliseconds. An option given as `undefined` counts as absent. */
export interface WorkerOptions extends Omit<NodeOptions, Refused>, ConnectionOptions, ControlOptions {
  /** The queue that the jobs come from. Default 'default'. */
  queue?: string
  /**
   * Several queues, instead of `queue`: a list, of which the first that has a job is taken, or weights by name (`{ critical: 5, default: 1 }`), by which the order is drawn
   * anew for each job. Equal weights shuffle the queues. Default only `queue`.
   */
  queues?: QueueList
  /** Connections that fetch at once, never more than there is room for jobs. Up to half as many report. Default 10. */
  fetchers?: number
  /** ms before the end of a reservation (`reserve_for`) at which its job must have ended, at most 30,000. Default 5,000. */
  reserveMargin?: number
  /** What the server shows of the worker. Default ['prefork', 'node']. */
  labels?: readonly string[]
  /** ms that jobs in flight have at a shutdown. The server expects a worker to end within 30 s. Default 25,000. */
  shutdownGrace?: number
}

/** A FETCH, an acknowledgement and the JSON between them take most of a job without work: more connections gain less and less. */
const DEFAULT_FETCHERS = 10
const MAX_FETCHERS = 1_000
/** ms between two beats. The server takes a worker for dead after 60 s of silence. */
const BEAT_INTERVAL = 15_000
/** ms. The server takes a shorter one for it. */
const LEAST_RESERVATION = 60_000
const MAX_MARGIN = LEAST_RESERVATION / 2

const isLabel = (value: unknown): value is string => typeof value === 'string' && value !== ''

const margin: Check<number> = (name, value) => {
  const ms = milliseconds(name, value)
  if (ms > MAX_MARGIN) throw refusal(name, `a number of milliseconds of at most ${MAX_MARGIN}: half of the shortest reservation`, value)
  return ms
}

const OWN_OPTIONS = {
  ...CONNECTION_OPTIONS,
  ...CONTROL_OPTIONS,
  queue: option('name', queueName, DEFAULT_QUEUE, 'the queue that the jobs come from'),
  queues: option('names', queueList, undefined, 'several queues, instead of `queue`: a list in strict order, or weights by name', 'only `queue`'),
  fetchers: option(
    'count',
    countFrom(1, MAX_FETCHERS),
    DEFAULT_FETCHERS,
    'connections that fetch at once, never more than there is room for jobs; up to half as many report',
  ),
  reserveMargin: option('ms', margin, 5_000, 'time before the end of a reservation at which its job must have ended, at most 30,000'),
  labels: option(
    'texts',
    (name, value) => arrayOf(name, value, 'an array of texts', 'a non-empty text', isLabel),
    (): string[] => ['prefork', 'node'],
    'what the server shows of the worker',
    "`['prefork', 'node']`",
  ),
  shutdownGrace: option('ms', millisecondsOrZero, 25_000, 'time that jobs in flight have when the node shuts down; the server expects an end within 30 s'),
} satisfies OptionTable<Omit<WorkerOptions, Exclude<keyof NodeOptions, 'shutdownGrace'>>>

/** The options of `createWorker`. */
export const WORKER_OPTIONS = { ...NODE_OPTIONS, ...OWN_OPTIONS } satisfies OptionTable<WorkerOptions>

/** Its rows that a user may give. */
export const WORKER_NAMES = namesOf(WORKER_OPTIONS).filter((name) => UNSUPPORTED[name as keyof NodeOptions] === undefined)

/** The others: each is refused with its reason. */
const REFUSED: ReadonlySet<string> = new Set(namesOf(WORKER_OPTIONS).filter((name) => !WORKER_NAMES.includes(name)))

/**
 * Starts a node that executes jobs from a Faktory server. Resolves when a worker is up and jobs are fetched. While the server cannot be reached, it waits,
 * without workers; a task module that cannot be loaded rejects even then. It handles no signal of the operating system: that is the application's.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {WorkerStartError} no worker can be started: `cause` is the task module's own error
 * @throws {BrokerError} the password is refused, the certificate is not trusted, or one side speaks TLS and the other does not
 */
export const createWorker = async (options: WorkerOptions): Promise<FarmNode> => {
  const given = plainObject('options', options)
  refuseUnknownNames('createWorker', Object.fromEntries(Object.entries(given).filter(([name]) => !REFUSED.has(name))), WORKER_NAMES)
  const { url, tls, queue, queues = [queue], fetchers, reserveMargin, labels, control, shutdownGrace } = readKnown(OWN_OPTIONS, given)
  if (given.queue !== undefined && given.queues !== undefined)
    throw new TypeError("Option 'queue' and option 'queues' were both given: name the queues in one of them.")
  const { maxBodySize, cancelGrace } = readKnown({ maxBodySize: NODE_OPTIONS.maxBodySize, cancelGrace: NODE_OPTIONS.cancelGrace }, given)
  if (cancelGrace + reserveMargin >= LEAST_RESERVATION)
    throw new OptionError(
      'cancelGrace',
      `leaves no time for a job: with reserveMargin (${reserveMargin} ms) it must be below the shortest reservation, ${LEAST_RESERVATION} ms`,
    )
  const name = options.name ?? defaultNodeName()
  const forNode = Object.fromEntries(Object.entries(given).filter(([each]) => !Object.hasOwn(OWN_OPTIONS, each)))
  const broker = new FaktoryBroker({
    ...endpointOf({ url, tls }),
    identity: { wid: randomBytes(8).toString('hex'), hostname: hostname(), pid: process.pid, labels },
    queues: new QueueOrder(queues),
    fetchers,
    reserveMargin,
    beatInterval: BEAT_INTERVAL,
    maxBodySize,
    control: control === undefined ? undefined : await controlPath(control),
    name,
  })
  return createNode(broker, { ...forNode, name, shutdownGrace })
}
