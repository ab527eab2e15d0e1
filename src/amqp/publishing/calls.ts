import { randomUUID } from 'node:crypto'
import { decodeReply } from '../../runtime/message/reply.js'
import { notify } from '../../util/notify.js'
import { deferred, withTimeout } from '../../util/with-timeout.js'
import { PreforkError } from '../../wire/errors.js'
import type { AdminChannel } from '../connection/admin-channel.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import { closeCode } from '../connection/connect-errors.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { PublishError, RemoteError } from '../errors.js'
import { PROGRESS_HEADER } from '../headers/message-headers.js'
import type { QueueShape } from '../topology/topology.js'
import { ConfirmingPublisher } from './confirming-publisher.js'
import { type JobPublication, JobPublisher } from './job-publisher.js'

/** The pseudo-queue of RabbitMQ's direct reply-to (https://www.rabbitmq.com/docs/direct-reply-to). */
export const REPLY_TO = 'amq.rabbitmq.reply-to'

interface Call {
  /** The call was published. Its answer can only arrive on the present channel. */
  written: boolean
  readonly onProgress: ((value: unknown) => void) | undefined
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Pending calls. Their answers come back over RabbitMQ's direct reply-to, which is bound to the channel that published the call. */
export class Calls {
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  readonly #pending = new Map<string, Call>()
  #closed = false

  constructor(connection: ReconnectingConnection, admin: AdminChannel, shape: QueueShape) {
    this.#publisher = new ConfirmingPublisher(connection, {
      setup: async (channel: AmqpChannel) => {
        await channel.consume(REPLY_TO, (message) => this.#receiveAnswer(message), { noAck: true })
      },
      closed: (reason) => this.#failPublished(reason),
    })
    this.#jobs = new JobPublisher(this.#publisher, admin, shape)
  }

  /**
   * Resolves with the task's result. Rejects with the task's error (RemoteError), with PreforkError `ERR_PREFORK_CALL_TIMEOUT` after
   * `timeout` ms, or with PublishError: RabbitMQ has not confirmed the job by then, or the channel was closed on which the answer would have
   * arrived.
   */
  async call(publication: JobPublication, name: string, timeout: number, onProgress?: (value: unknown) => void): Promise<unknown> {
    // The node sends the caller's own correlation id back as it is, so two pending calls must not share one.
    const key = publication.options.correlationId ?? randomUUID()
    if (this.#pending.has(key)) throw new TypeError(`A call with the correlationId '${key}' is waiting for its answer: name another.`)
    const { promise: answered, resolve, reject } = deferred<unknown>()
    const call: Call = { written: false, onProgress, resolve, reject }
    this.#pending.set(key, call)
    const written = (): void => {
      call.written = true
    }
    const { headers } = publication.options
    const options = {
      ...publication.options,
      replyTo: REPLY_TO,
      correlationId: key,
      headers: onProgress === undefined ? headers : { ...headers, [PROGRESS_HEADER]: true },
    }
    let confirmed = false
    const answer = withTimeout(answered, timeout, () => {
      throw confirmed
        ? new PreforkError('ERR_PREFORK_CALL_TIMEOUT', `The call of '${name}' was not answered within ${timeout} ms. The job may still run.`)
        : unconfirmed(name, timeout, call.written)
    })
    this.#jobs.publish({ ...publication, options, resend: false, timeout, written }).then(() => {
      confirmed = true
    }, reject)
    try {
      return await answer
    } finally {
      this.#pending.delete(key)
    }
  }

  #receiveAnswer(message: AmqpMessage | null): void {
    const call = this.#pending.get(message?.properties.correlationId ?? '')
    if (message === null || call === undefined) return
    try {
      const reply = decodeReply(message.content)
      if (message.properties.headers?.[PROGRESS_HEADER] === true) {
        if (reply.ok && call.onProgress !== undefined) notify(call.onProgress, reply.value)
        return
      }
      if (reply.ok) call.resolve(reply.value)
      else call.reject(new RemoteError(reply.error))
    } catch (error) {
      call.reject(error)
    }
  }

  #failPublished(reason: Error): void {
    const cause = closeCode(reason) === undefined ? 'The connection was lost' : 'RabbitMQ closed the channel'
    for (const call of this.#pending.values())
      if (call.written && !this.#closed)
        call.reject(new PublishError(`${cause} before the answer came; the job may still run: ${reason.message}`, 'unknown', { cause: reason }))
  }

  /** Waits up to `timeout` ms for confirms, not for answers: pending calls are rejected. */
  async close(timeout: number): Promise<void> {
    this.#closed = true
    await this.#publisher.close(timeout)
    for (const call of this.#pending.values())
      call.reject(new PublishError('The publisher was closed before the answer came; the job may still run.', 'unknown'))
  }
}

const unconfirmed = (name: string, timeout: number, written: boolean): PublishError =>
  new PublishError(
    written
      ? `The call of '${name}' was given up after ${timeout} ms: RabbitMQ did not confirm the job, so that it may be stored or not. Does it hold back publishers (an alarm of memory or disk)?`
      : `The call of '${name}' was given up after ${timeout} ms: RabbitMQ could not be reached.`,
    written ? 'unknown' : 'no',
  )
