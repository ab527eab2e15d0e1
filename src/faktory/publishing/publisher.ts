import { BrokerError, checkItem, checkSource, PublishError } from '../../node/connection/errors.js'
import type { AnyTasks, TaskArgs, TaskName } from '../../pool/jobs/task-types.js'
import { refusal } from '../../util/checks.js'
import { withTimeout } from '../../util/with-timeout.js'
import { CommandConnections } from '../connection/command-connections.js'
import { FaktoryError } from '../errors.js'
import { type MutateCommand, mutateArgument } from '../operations/mutate.js'
import { QueueAdmin } from '../operations/queue-admin.js'
import { readInfo, type ServerInfo } from '../operations/server-info.js'
import type { ServerEndpoint } from '../options.js'
import { JobPusher } from './job-pusher.js'
import { BulkPublication, type PublishedMany } from './publish-many.js'
import { NAMES, type PreparedJob, type PublishJobOptions, type PublishSettings, prepareJob, readPublishOptions } from './publish-options.js'

/** Publications that may wait for a connection. */
const MAX_WAITING = 100_000

/** The switches in `custom` that only Faktory Enterprise obeys. */
const ENTERPRISE = ['unique_for', 'unique_until', 'expires_at', 'expires_in', 'track', 'bid'] as const

export interface PublisherSettings extends ServerEndpoint {
  readonly queue: string
  /** ms */
  readonly publishTimeout: number
  /** ms for the first connection. */
  readonly connectTimeout: number
}

/** The name of a call in error texts. */
const callName = (call: string, name: unknown): string => `publisher.${call}('${String(name)}', …)`

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') throw refusal('name', 'the name of a task', name)
}

/** Publishes jobs to Faktory; made by `createPublisher`. */
export class Publisher<T = AnyTasks> implements AsyncDisposable {
  readonly #settings: PublisherSettings
  readonly #connections: CommandConnections
  readonly #pusher: JobPusher
  /** The queues of the server. */
  readonly queue: QueueAdmin
  /** The server was asked whether it is Faktory Enterprise, or is being asked. */
  #isEditionKnown = false
  /** Publications in progress: `close` waits for them. */
  #running = 0
  #idle = (): void => {}
  #closing: Promise<void> | undefined

  /** @internal Use `createPublisher`. */
  constructor(settings: PublisherSettings) {
    this.#settings = settings
    this.#connections = new CommandConnections({ ...settings, connections: 1, maxWaiting: MAX_WAITING, warn: (message) => process.emitWarning(message) })
    this.#pusher = new JobPusher(this.#connections, settings.publishTimeout)
    this.queue = new QueueAdmin((verb, argument) => this.#command(`queue.${argument?.split(' ')[0]?.toLowerCase()}`, verb, argument))
  }

  /** @internal */
  async start(): Promise<void> {
    const { connectTimeout, address } = this.#settings
    let last = `Faktory at ${address.shown} cannot be reached.`
    this.#connections.on('retry', ({ message }) => {
      last = message
    })
    try {
      await withTimeout(this.#connections.start(), connectTimeout, () => {
        throw new BrokerError(`${last} It was tried for ${connectTimeout} ms.`)
      })
    } catch (error) {
      await this.#connections.close()
      throw error
    } finally {
      this.#connections.removeAllListeners('retry')
    }
  }

  /** Whether Faktory is connected now. While it is not, publications wait, for `publishTimeout` ms at most. */
  get connected(): boolean {
    return this.#connections.connected
  }

  /**
   * Resolves with the job's id when the server has stored it; with undefined when Faktory Enterprise has such a job already (`unique_for`). A job
   * that the server certainly does not have is sent again, until `publishTimeout`; one that it may have is not.
   *
   * Rejects with TypeError (an option), SerializationError (an argument, or a part of `custom`) or PublishError.
   */
  async publish<N extends TaskName<T>>(name: N, args: TaskArgs<T, N>, options?: PublishJobOptions): Promise<string | undefined> {
    this.#refuseWhenClosed('publish')
    checkName(name)
    if (!Array.isArray(args)) throw refusal('args', `an array: publisher.publish('${name}', [argument, …])`, args)
    const job = this.#prepare(name, args, readPublishOptions(callName('publish', name), options, NAMES))
    return this.#counted(async () => ((await this.#pusher.push(job)) ? job.jid : undefined))
  }

  /**
   * Publishes one job for each array of arguments that `source` yields, up to 1,000 in one command. Resolves with the ids of the jobs that the
   * server took, in the order of the source, and of those that it refused. The options are read once, at the call.
   *
   * Rejects with TypeError for the name, an option or a source that is none, before the source is read. Later it rejects with PublishManyError, after which nothing more
   * is read from the source: `cause` is the first error, `published` has the ids of the published jobs.
   */
  async publishMany<N extends TaskName<T>>(
    name: N,
    source: Iterable<TaskArgs<T, N>> | AsyncIterable<TaskArgs<T, N>>,
    options?: Omit<PublishJobOptions, 'jid'>,
  ): Promise<PublishedMany> {
    this.#refuseWhenClosed('publishMany')
    checkName(name)
    const names = NAMES.filter((each) => each !== 'jid')
    const settings = readPublishOptions(callName('publishMany', name), options, names)
    checkSource(name, source)
    return this.#counted(() =>
      new BulkPublication(this.#pusher).run(source, (args, index) => {
        checkItem(name, index, args)
        return this.#prepare(name, args as readonly unknown[], settings)
      }),
    )
  }

  /** Is refused, by the compiler and at run time: Faktory keeps no results. */
  call(..._: never): Promise<never> {
    return Promise.reject(
      new TypeError(
        'publisher.call() is refused: Faktory keeps no results. Publish the job, and let its task store the result, or publish a job with it, where the caller looks for it; or run the task in this process with createPool, or over RabbitMQ with prefork/amqp.',
      ),
    )
  }

  /** What the server says about itself: queues, sets, counters. Rejects as `publish`. */
  async info(): Promise<ServerInfo> {
    return readInfo(await this.#command('info', 'INFO'))
  }

  /**
   * Moves or removes jobs of a set: those that are scheduled, wait for a retry, or are dead. It walks through the whole set, and is for operators,
   * not for an application's everyday. Rejects with TypeError for a command that cannot be used, and as `publish`.
   */
  async mutate(command: MutateCommand): Promise<void> {
    const argument = mutateArgument(command)
    await this.#command('mutate', 'MUTATE', argument)
  }

  async #command(call: string, verb: string, argument?: string): Promise<string | null> {
    this.#refuseWhenClosed(call)
    return this.#counted(() => this.#connections.commandWithin(verb, argument, this.#settings.publishTimeout))
  }

  #prepare(name: string, args: readonly unknown[], settings: PublishSettings): PreparedJob {
    const job = prepareJob(name, args, settings, this.#settings.queue)
    if (settings.custom !== undefined && !this.#isEditionKnown) this.#warnAboutSwitches(settings.custom)
    return job
  }

  /** The open server takes the switches of Faktory Enterprise, and ignores them in silence. */
  #warnAboutSwitches(custom: Readonly<Record<string, unknown>>): void {
    const used = ENTERPRISE.filter((name) => custom[name] !== undefined)
    if (used.length === 0) return
    this.#isEditionKnown = true
    this.#connections.command('TRACK', 'GET prefork-asks-for-the-edition').catch((error: unknown) => {
      if (error instanceof FaktoryError && error.serverMessage.includes('only available in Faktory Enterprise'))
        process.emitWarning(`Faktory ignores ${used.join(', ')} in 'custom': this server is not Faktory Enterprise.`)
      // It could not be asked: the next job with a switch asks again.
      else if (!(error instanceof FaktoryError)) this.#isEditionKnown = false
    })
  }

  #refuseWhenClosed(call: string): void {
    if (this.#closing !== undefined) throw new PublishError(`${call} is refused: the publisher is closed or closing.`, 'no')
  }

  async #counted<V>(run: () => Promise<V>): Promise<V> {
    this.#running++
    try {
      return await run()
    } finally {
      this.#running--
      if (this.#running === 0) this.#idle()
    }
  }

  /** Waits until each publication is stored or rejected, then closes. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    // Each publication is bounded by `publishTimeout`.
    if (this.#running > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    await this.#connections.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
