/** Calls: a job whose answer comes back over direct reply-to, which lives and dies with the channel that asked. */
import { randomUUID } from 'node:crypto'
import { decodeReply } from '../../runtime/message/index.js'
import { PreforkError } from '../../wire/errors.js'
import type { AdminChannel } from '../connection/admin-channel.js'
import type { AmqpChannel, AmqpMessage } from '../connection/client.js'
import type { SteadyConnection } from '../connection/connection.js'
import { codeOfClosure } from '../connection/refusals.js'
import { PublishError, RemoteError } from '../errors.js'
import type { QueueShape } from '../topology/topology.js'
import { ConfirmingPublisher } from './confirming-publisher.js'
import { type JobPublication, JobPublisher } from './job-publisher.js'

/** The broker's name for "the channel that this came from". */
export const REPLY_TO = 'amq.rabbitmq.reply-to'

interface Call {
  /** It went out on the present channel, so that the answer can only come there. */
  written: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

export class Calls {
  readonly #publisher: ConfirmingPublisher
  readonly #jobs: JobPublisher
  readonly #pending = new Map<string, Call>()
  #closed = false

  constructor(connection: SteadyConnection, errands: AdminChannel, shape: QueueShape) {
    this.#publisher = new ConfirmingPublisher(connection, {
      setup: async (channel: AmqpChannel) => {
        await channel.consume(REPLY_TO, (message) => this.#answered(message), { noAck: true })
      },
      gone: (reason) => this.#gone(reason),
    })
    this.#jobs = new JobPublisher(this.#publisher, errands, shape)
  }

  /**
   * Resolves with the task's result; rejects with its error (RemoteError), PreforkError `ERR_PREFORK_CALL_TIMEOUT`, or PublishError
   * when the connection is lost: the answer would have come over it.
   */
  call(publication: JobPublication, name: string, timeout: number): Promise<unknown> {
    // The publisher's own correlation id need not be unique; it comes back from the node as it was sent.
    const key = publication.options.correlationId ?? randomUUID()
    if (this.#pending.has(key)) return Promise.reject(new TypeError(`A call with the correlationId '${key}' is waiting for its answer: name another.`))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => call.reject(new PreforkError('ERR_PREFORK_CALL_TIMEOUT', `The call of '${name}' was not answered within ${timeout} ms. The job may still run.`)),
        timeout,
      )
      const done = (): void => {
        clearTimeout(timer)
        this.#pending.delete(key)
      }
      const call: Call = {
        written: false,
        resolve: (value) => {
          done()
          resolve(value)
        },
        reject: (error) => {
          done()
          reject(error)
        },
      }
      this.#pending.set(key, call)
      const written = (): void => {
        call.written = true
      }
      const options = { ...publication.options, replyTo: REPLY_TO, correlationId: key }
      this.#jobs.publish({ ...publication, options, resend: false, timeout, written }).catch((error: unknown) => call.reject(error))
    })
  }

  #answered(message: AmqpMessage | null): void {
    const call = this.#pending.get(message?.properties.correlationId ?? '')
    if (message === null || call === undefined) return
    try {
      const reply = decodeReply(message.content)
      if (reply.ok) call.resolve(reply.value)
      else call.reject(new RemoteError(reply.error))
    } catch (error) {
      call.reject(error)
    }
  }

  #gone(reason: Error): void {
    const what = codeOfClosure(reason) === undefined ? 'The connection was lost' : 'RabbitMQ closed the channel'
    for (const call of [...this.#pending.values()])
      if (call.written && !this.#closed)
        call.reject(new PublishError(`${what} before the answer came; the job may still run: ${reason.message}`, 'unknown', { cause: reason }))
  }

  /** Waits for confirms, not for answers: those still wanted are rejected. */
  async close(timeout: number): Promise<void> {
    this.#closed = true
    await this.#publisher.close(timeout)
    for (const call of [...this.#pending.values()])
      call.reject(new PublishError('The publisher was closed before the answer came; the job may still run.', 'unknown'))
  }
}
