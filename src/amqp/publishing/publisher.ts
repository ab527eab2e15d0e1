import { randomUUID } from 'node:crypto'
import { checkItem, checkSource, PublishManyError } from '../../node/connection/errors.js'
import type { AnyTasks, TaskArgs, TaskName, TaskResult } from '../../pool/jobs/task-types.js'
import { type EncodedJob, encodeJob } from '../../runtime/message/job.js'
import { refusal } from '../../util/checks.js'
import { namesOf, optionValue } from '../../util/option-table.js'
import { AdminChannel } from '../connection/admin-channel.js'
import type { Endpoint } from '../connection/endpoint.js'
import { connectWithin, ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { BrokerError, PublishError } from '../errors.js'
import { writeHeaders } from '../headers/message-headers.js'
import { declareQueue, type QueueShape } from '../topology/topology.js'
import { Calls } from './calls.js'
import { ConfirmingPublisher } from './confirming-publisher.js'
import { type JobPublication, JobPublisher } from './job-publisher.js'
import { CALL_OPTIONS, type CallOptions, NAMES, type PublishJobOptions, readPublishOptions } from './publish-options.js'

/** Outstanding jobs of one `publishMany` at most: bounds the memory that an endless source takes. */
const MAX_OUTSTANDING = 1_024
const FIRST_COUNTS = { attempt: 1, losses: 0, requeues: 0 }

export interface PublisherSettings extends Endpoint {
  readonly queue: string
  readonly shape: QueueShape
  /** ms */
  readonly publishTimeout: number
  /** ms for the first connection. */
  readonly connectTimeout: number
}

/** A job as it is published, with the id that it got. */
type PreparedJob = JobPublication & { readonly options: { readonly messageId: string } }

const checkName = (name: unknown): void => {
  if (typeof name !== 'string' || name === '') throw refusal('name', 'the name of a task', name)
}

const isAsync = <V>(source: Iterable<V> | AsyncIterable<V>): source is AsyncIterable<V> => Symbol.asyncIterator in Object(source)

const isPromise = (item: unknown): item is PromiseLike<unknown> => typeof (item as { then?: unknown } | null | undefined)?.then === 'function'

/** The name of a call in error texts. */
const callName = (call: string, name: string): string => `publisher.${call}('${name}', …)`

/** Publishes jobs to RabbitMQ; made by `createPublisher`. */
export class Publisher<T = AnyTasks> implements AsyncDisposable {
  readonly #settings: PublisherSettings
  readonly #connection: ReconnectingConnection
  readonly #admin: AdminChannel
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  #calls: Calls | undefined
  /** Publications in progress, encoding included: `close` waits for them. */
  #running = 0
  #idle = (): void => {}
  #closing: Promise<void> | undefined

  /** @internal Use `createPublisher`. */
  constructor(settings: PublisherSettings) {
    this.#settings = settings
    this.#connection = new ReconnectingConnection(settings, `prefork publisher ${process.pid}`)
    this.#admin = new AdminChannel(this.#connection)
    this.#publisher = new ConfirmingPublisher(this.#connection)
    this.#jobs = new JobPublisher(this.#publisher, this.#admin, settings.shape)
  }

  /** @internal */
  async start(): Promise<void> {
    const { queue, shape } = this.#settings
    try {
      await connectWithin(this.#connection, this.#settings, () => this.#admin.run((channel) => declareQueue(channel, queue, shape)))
    } catch (error) {
      await this.#closeAll()
      throw error
    }
  }

  /** Whether RabbitMQ is connected now. While it is not, publications wait, for `publishTimeout` ms at most. */
  get connected(): boolean {
    return this.#connection.current !== undefined
  }

  /**
   * Resolves with the job's id when RabbitMQ has confirmed it. When the connection is lost before the confirm, the message is published
   * again, and may then be stored twice, with the same id.
   *
   * Rejects with TypeError (an option), SerializationError (an argument) or PublishError.
   */
  publish<N extends TaskName<T>>(name: N, args: TaskArgs<T, N>, options?: PublishJobOptions): Promise<string> {
    return this.#publish('publish', name, args, () => readPublishOptions(callName('publish', name), options, NAMES))
  }

  #publish(call: string, name: string, args: unknown, options: () => PublishJobOptions): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#send(
        () => this.#prepare(call, name, args, options),
        (error, id) => (id === undefined ? reject(error) : resolve(id)),
      )
    })
  }

  /** `end` gets the id of the published job, or an error. It may be called at once. Promises for each job would cost as much as its encoding. */
  #send(prepare: () => PreparedJob | Promise<PreparedJob>, end: (error: unknown, id?: string) => void): void {
    this.#running++
    const ended = (error: unknown, id?: string): void => {
      end(error, id)
      this.#running--
      if (this.#running === 0) this.#idle()
    }
    const publish = (job: PreparedJob): void => this.#jobs.send(job, (error) => (error === undefined ? ended(undefined, job.options.messageId) : ended(error)))
    try {
      const prepared = prepare()
      if (prepared instanceof Promise) prepared.then(publish).catch(ended)
      else publish(prepared)
    } catch (error) {
      ended(error)
    }
  }

  /**
   * Publishes one job for each array of arguments that `source` yields, up to 1,024 at once. Resolves with their ids, in the order of the
   * source. After an error nothing more is read from the source. The options are read once, at the call.
   *
   * Rejects with TypeError for the name, an option or a source that is none, before the source is read. Later it rejects with PublishManyError: `cause` is the
   * first error, `published` has the ids of the published jobs.
   */
  async publishMany<N extends TaskName<T>>(
    name: N,
    source: Iterable<TaskArgs<T, N>> | AsyncIterable<TaskArgs<T, N>>,
    options?: Omit<PublishJobOptions, 'messageId' | 'correlationId'>,
  ): Promise<string[]> {
    const names = NAMES.filter((each) => each !== 'messageId' && each !== 'correlationId')
    checkName(name)
    const given = readPublishOptions(callName('publishMany', name), options, names)
    checkSource(name, source)
    const ids: (string | undefined)[] = []
    let failed: { error: unknown } | undefined
    let running = 0
    let wake = (): void => {}
    /** Resolves when one of the publications has ended. */
    const oneEnded = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve
      })
    const publish = (args: unknown): void => {
      const index = ids.push(undefined) - 1
      running++
      this.#send(
        () => {
          checkItem(name, index, args)
          return this.#prepare('publishMany', name, args, () => given)
        },
        (error, id) => {
          running--
          if (id === undefined) failed ??= { error }
          else ids[index] = id
          wake()
        },
      )
    }
    try {
      // `for await` would wait for each item of an array, too.
      for (const args of isAsync(source) ? [] : source) {
        publish(isPromise(args) ? await args : args)
        if (running >= MAX_OUTSTANDING) await oneEnded()
        if (failed !== undefined) break
      }
      for await (const args of isAsync(source) ? source : []) {
        publish(args)
        if (running >= MAX_OUTSTANDING) await oneEnded()
        if (failed !== undefined) break
      }
    } catch (error) {
      failed ??= { error }
    }
    while (running > 0) await oneEnded()
    const published = ids.filter((id) => id !== undefined)
    if (failed !== undefined) throw new PublishManyError(failed.error, published)
    return published
  }

  /**
   * Publishes a job and resolves with its task's result. When the connection is lost, the answer is lost with it: the call is rejected,
   * not published again, and the job may still run.
   *
   * Rejects with the task's error (RemoteError), with PreforkError `ERR_PREFORK_CALL_TIMEOUT` when a stored job is not answered within
   * `timeout`, or as `publish`.
   */
  async call<N extends TaskName<T>>(name: N, args: TaskArgs<T, N>, options?: CallOptions): Promise<TaskResult<T, N>> {
    const timeout = optionValue('timeout', CALL_OPTIONS.timeout, options?.timeout)
    const onProgress = optionValue('onProgress', CALL_OPTIONS.onProgress, options?.onProgress)
    const publication = await this.#prepare('call', name, args, () => readPublishOptions(callName('call', name), options, namesOf(CALL_OPTIONS)))
    this.#calls ??= new Calls(this.#connection, this.#admin, this.#settings.shape)
    return (await this.#calls.call(publication, name, timeout, onProgress)) as TaskResult<T, N>
  }

  /** A promise only with `compress`: one for each job would cost throughput. */
  #prepare(call: string, name: string, args: unknown, read: () => PublishJobOptions): PreparedJob | Promise<PreparedJob> {
    if (this.#closing !== undefined) throw new PublishError(`${call} is refused: the publisher is closed or closing.`, 'no')
    checkName(name)
    if (!Array.isArray(args)) throw refusal('args', `an array: publisher.${call}('${name}', [argument, …])`, args)
    const options = read()
    const { context, ttl, compress } = options
    // Encoded in this turn: later changes to the arguments have no effect.
    const encoded = encodeJob(context === undefined ? { task: name, args } : { task: name, args, context }, { compress })
    const expiresAt = ttl === undefined ? undefined : Date.now() + ttl
    return encoded instanceof Promise ? encoded.then((each) => this.#publicationOf(each, options, expiresAt)) : this.#publicationOf(encoded, options, expiresAt)
  }

  /** Property by property: copies of the options would cost more than the encoding. */
  #publicationOf({ body, contentType, contentEncoding, schemaVersion }: EncodedJob, options: PublishJobOptions, expiresAt: number | undefined): PreparedJob {
    const { softTimeLimit, timeLimit, maxAttempts, backoff, retryLost, priority, correlationId, delay } = options
    const limits = { softTimeLimit, timeLimit, maxAttempts, backoff, retryLost }
    const key = randomUUID()
    const job = { contentType, contentEncoding, schemaVersion, priority, correlationId, expiresAt, ...limits }
    const headers = writeHeaders(job, FIRST_COUNTS, undefined, delay, key)
    const { queue, publishTimeout } = this.#settings
    const sent = Object.assign(headers, { messageId: options.messageId ?? key, persistent: true, mandatory: true })
    return { queue, body, options: sent, delay, timeout: publishTimeout }
  }

  /** Waits until each publication is confirmed or rejected, then closes. Calls that wait for an answer are rejected with PublishError. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    const { publishTimeout } = this.#settings
    // Each publication is bounded by `publishTimeout`.
    if (this.#running > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    await Promise.all([this.#publisher.close(publishTimeout), this.#calls?.close(publishTimeout)])
    await this.#admin.close()
    await this.#connection.close(new BrokerError('The publisher has been closed.'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
