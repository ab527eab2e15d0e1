/** What `createPublisher` returns. */
import { randomUUID } from 'node:crypto'
import type { AnyTasks, TaskArgs, TaskName, TaskResult } from '../../pool/types.js'
import { encodeJob } from '../../runtime/message/index.js'
import { milliseconds, refuse } from '../../util/checks.js'
import { AdminChannel } from '../connection/admin-channel.js'
import { SteadyConnection } from '../connection/connection.js'
import type { Endpoint } from '../connection/endpoint.js'
import { firstConnection } from '../connection/first-connection.js'
import { BrokerError, PublishError } from '../errors.js'
import { writeHeaders } from '../headers/message-headers.js'
import { declareQueue, type QueueShape } from '../topology/topology.js'
import { Calls } from './calls.js'
import { ConfirmingPublisher } from './confirming-publisher.js'
import { type JobPublication, JobPublisher } from './job-publisher.js'
import { type CallOptions, NAMES, type PublishJobOptions, readPublishOptions } from './publish-options.js'

/** Jobs of one `publishMany` outstanding at the most: what an endless source may put into memory. */
const LOOK_AHEAD = 1_024
const CALL_TIMEOUT = 60_000
const first = { attempt: 1, losses: 0, requeues: 0 }

export interface PublisherSettings extends Endpoint {
  readonly queue: string
  readonly shape: QueueShape
  /** ms */
  readonly publishTimeout: number
  /** ms for the first connection. */
  readonly connectTimeout: number
}

/** Some jobs of a `publishMany` were not published. */
export class PublishManyError extends PublishError {
  /** Ids of those that were, in the order of the source. */
  readonly published: readonly string[]
  constructor(cause: unknown, published: readonly string[]) {
    super(
      `${published.length === 1 ? '1 job was' : `${published.length} jobs were`} published before one was not: ${cause instanceof Error ? cause.message : String(cause)}`,
      'no',
      { cause },
    )
    this.published = published
  }
}
PublishManyError.prototype.name = 'PublishManyError'

const checkName = (name: unknown): void => {
  if (typeof name !== 'string' || name === '') throw refuse('name', 'the name of a task', name)
}

/** As refusals of its options name a call. */
const called = (call: string, name: string): string => `publisher.${call}('${name}', …)`

export class Publisher<T = AnyTasks> implements AsyncDisposable {
  readonly #settings: PublisherSettings
  readonly #connection: SteadyConnection
  readonly #errands: AdminChannel
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  #calls: Calls | undefined
  /** Publications under way, encoding included: `close` waits for them. */
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  /** @internal Use `createPublisher`. */
  constructor(settings: PublisherSettings) {
    this.#settings = settings
    this.#connection = new SteadyConnection(settings, `prefork publisher ${process.pid}`)
    this.#errands = new AdminChannel(this.#connection)
    this.#publisher = new ConfirmingPublisher(this.#connection)
    this.#jobs = new JobPublisher(this.#publisher, this.#errands, settings.shape)
  }

  /** @internal */
  async start(): Promise<void> {
    const { queue, shape } = this.#settings
    try {
      await firstConnection(this.#connection, this.#settings, () => this.#errands.run((channel) => declareQueue(channel, queue, shape)))
    } catch (error) {
      await this.#closeAll()
      throw error
    }
  }

  /** The broker can be reached just now. While it cannot, publications wait, for `publishTimeout` at the most. */
  get connected(): boolean {
    return this.#connection.current !== undefined
  }

  /**
   * Resolves with the job's id when the broker has stored it. A connection that is cut between storing and confirming makes it send
   * the message again: it is then stored twice, with the same id.
   *
   * Rejects with TypeError (an option), SerializationError (an argument) or PublishError.
   */
  publish<N extends TaskName<T>>(name: N, args: TaskArgs<T, N>, options?: PublishJobOptions): Promise<string> {
    return this.#publish('publish', name, args, options, NAMES)
  }

  #publish(call: string, name: string, args: unknown, options: unknown, names: readonly string[]): Promise<string> {
    const running = (async (): Promise<string> => {
      const [id, publication] = await this.#prepare(call, name, args, options, names)
      await this.#jobs.publish(publication)
      return id
    })()
    this.#running.add(running)
    const done = (): void => void this.#running.delete(running)
    running.then(done, done)
    return running
  }

  /**
   * Publishes one job for each array of arguments that `source` yields, many at once, and resolves with their ids, in order. After an
   * error no more are taken from the source.
   *
   * Rejects with TypeError for the name or an option, before anything is taken from the source; later with PublishManyError, whose
   * `cause` is the first error and whose `published` are the ids of those jobs that were published.
   */
  async publishMany<N extends TaskName<T>>(
    name: N,
    source: Iterable<TaskArgs<T, N>> | AsyncIterable<TaskArgs<T, N>>,
    options?: Omit<PublishJobOptions, 'messageId' | 'correlationId'>,
  ): Promise<string[]> {
    const names = NAMES.filter((each) => each !== 'messageId' && each !== 'correlationId')
    checkName(name)
    readPublishOptions(called('publishMany', name), options, names)
    const ids: (string | undefined)[] = []
    let failed: { error: unknown } | undefined
    let running = 0
    let wake = (): void => {}
    /** Until one of them has ended. */
    const oneLess = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve
      })
    const publish = async (place: number, args: unknown): Promise<void> => {
      running++
      try {
        ids[place] = await this.#publish('publishMany', name, args, options, names)
      } catch (error) {
        failed ??= { error }
      }
      running--
      wake()
    }
    try {
      for await (const args of source) {
        void publish(ids.push(undefined) - 1, args)
        if (running >= LOOK_AHEAD) await oneLess()
        if (failed !== undefined) break
      }
    } catch (error) {
      failed ??= { error }
    }
    while (running > 0) await oneLess()
    const published = ids.filter((id) => id !== undefined)
    if (failed !== undefined) throw new PublishManyError(failed.error, published)
    return published
  }

  /**
   * Publishes a job and resolves with its task's result. Not sent again when the connection is lost, since the answer would have come
   * over it; the job may then still run.
   *
   * Rejects with what the task threw (RemoteError), with PreforkError `ERR_PREFORK_CALL_TIMEOUT`, or as `publish`.
   */
  async call<N extends TaskName<T>>(name: N, args: TaskArgs<T, N>, options?: CallOptions): Promise<TaskResult<T, N>> {
    const timeout = options?.timeout === undefined ? CALL_TIMEOUT : milliseconds('timeout', options.timeout)
    const [, publication] = await this.#prepare('call', name, args, options, [...NAMES, 'timeout'])
    this.#calls ??= new Calls(this.#connection, this.#errands, this.#settings.shape)
    return (await this.#calls.call(publication, name, timeout)) as TaskResult<T, N>
  }

  async #prepare(call: string, name: string, args: unknown, given: unknown, names: readonly string[]): Promise<[id: string, publication: JobPublication]> {
    if (this.#closing !== undefined) throw new PublishError(`${call} is refused: the publisher is closed or closing.`, 'no')
    checkName(name)
    if (!Array.isArray(args)) throw refuse('args', `an array: publisher.${call}('${name}', [argument, …])`, args)
    const options = readPublishOptions(called(call, name), given, names)
    const { context, delay, ttl, compress, messageId: id = randomUUID(), ...rest } = options
    // At once: later changes to the arguments are not seen.
    const encoding = encodeJob({ task: name, args, ...(context === undefined ? undefined : { context }) }, { compress })
    const expiresAt = ttl === undefined ? undefined : Date.now() + ttl
    const { body, ...said } = await encoding
    const { queue, publishTimeout } = this.#settings
    return [
      id,
      { queue, body, options: { ...writeHeaders({ ...said, ...rest, expiresAt }, first, undefined, delay), messageId: id }, delay, timeout: publishTimeout },
    ]
  }

  /** Waits until what was published has been confirmed or rejected, then closes. Calls that wait for an answer are rejected. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    const { publishTimeout } = this.#settings
    // Each is bounded by `publishTimeout` itself.
    await Promise.allSettled(this.#running)
    await Promise.all([this.#publisher.close(publishTimeout), this.#calls?.close(publishTimeout)])
    await this.#errands.close()
    await this.#connection.close(new BrokerError('The publisher has been closed.'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
