import { shortName } from '../../util/nearest.js'
import { overText } from '../../util/shown-text.js'
import { decode, encode } from '../../wire/codec/index.js'
import { PreforkError, ProtocolError, SerializationError } from '../../wire/errors.js'
import {
  CALL_HEAD,
  callNumberOf,
  deliveryOf,
  FIXED_BYTES,
  FRAME_HEAD,
  flagsOf,
  LENGTH_BYTES,
  MAX_NAME_BYTES,
  REPLY_HEAD,
  writeCallHead,
} from '../../wire/frame.js'
import { FLAG_CALLS, FLAG_ERROR, Kind, MAX_CALLS } from '../../wire/messages.js'
import { withCallerStack } from '../../wire/remote-error/index.js'
import type { FrameOutput } from '../io/frame-output.js'
import type { InterruptibleCall } from './interruptible-call.js'
import type { WorkerJob } from './job.js'
import type { JobHooks } from './job-hooks.js'

/** A call that waits for its answer. */
interface PendingCall {
  readonly name: string
  readonly promise: Promise<unknown>
  readonly resolve: (value: unknown) => void
}

interface CallingJob {
  /** The number of the last call. */
  last: number
  readonly pending: Map<number, PendingCall>
}

/** The calls of running jobs to their host, and the answers. */
export class OutgoingCalls {
  readonly #output: FrameOutput
  readonly #call: InterruptibleCall
  readonly #hooks: Pick<JobHooks, 'inside'>
  readonly #maxMessageSize: number
  /** By delivery: the running jobs that have called. */
  readonly #jobs = new Map<number, CallingJob>()

  constructor(output: FrameOutput, call: InterruptibleCall, hooks: Pick<JobHooks, 'inside'>, maxMessageSize: number) {
    this.#output = output
    this.#call = call
    this.#hooks = hooks
    this.#maxMessageSize = maxMessageSize
  }

  /** Never throws: a call that is refused rejects. */
  call(job: WorkerJob, name: unknown, args: readonly unknown[]): Promise<unknown> {
    try {
      return this.#call.protect(() => this.#send(job, name, args)).promise
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A REPLY. It settles a promise, and calls nothing. */
  reply(bytes: Buffer, start: number, end: number): void {
    const body = start + LENGTH_BYTES
    const payload = start + FRAME_HEAD
    if (end - payload <= REPLY_HEAD) throw new ProtocolError(`A REPLY frame of ${end - start} bytes is too short.`)
    const calls = this.#jobs.get(deliveryOf(bytes, body))
    const number = callNumberOf(bytes, payload)
    const pending = calls?.pending.get(number)
    // Without one, the job has ended or was cancelled since the host wrote this.
    if (pending === undefined) return
    calls!.pending.delete(number)
    let answer: unknown
    try {
      answer = decode(bytes.subarray(body, end), FIXED_BYTES + REPLY_HEAD)
    } catch (cause) {
      pending.resolve(
        rejection(new SerializationError(`The answer of the call '${shortName(pending.name)}' cannot be decoded: ${(cause as Error).message}`, { cause })),
      )
      return
    }
    pending.resolve((flagsOf(bytes, body) & FLAG_ERROR) === 0 ? answer : rejection(answer))
  }

  /** The host has cancelled the job, and answers it no more. */
  cancelled(job: WorkerJob, cause: unknown): void {
    this.#end(job, (name) => cancelledError(name, job, cause))
  }

  jobEnded(job: WorkerJob): void {
    this.#end(job, (name) => endedError(name, job))
  }

  #send(job: WorkerJob, name: unknown, args: readonly unknown[]): PendingCall {
    if (typeof name !== 'string') throw new TypeError("The first argument of call() is the name of a function: currentJob().call('lookUp', id).")
    this.#checkMayCall(job, name)
    const nameBytes = Buffer.byteLength(name)
    if (nameBytes > MAX_NAME_BYTES) throw new TypeError(`The name of a call has at most ${MAX_NAME_BYTES} bytes, not ${nameBytes}.`)
    const at = FRAME_HEAD + CALL_HEAD
    // This may run code of the task, such as a getter, which may call as well: what follows depends on nothing read before.
    const encoded = encode(args, at + nameBytes, { root: 'args' })
    const size = encoded.size + nameBytes
    if (size > this.#maxMessageSize)
      throw new SerializationError(`The arguments of the call '${shortName(name)}' take ${overText(size, 'maxMessageSize', this.#maxMessageSize)}.`)
    const calls = this.#callsOf(job)
    if (calls.pending.size >= MAX_CALLS)
      throw new PreforkError(
        'ERR_PREFORK_TOO_MANY_CALLS',
        `${MAX_CALLS} calls of the job '${job.name}' are unanswered already: await some of them before the next.`,
      )
    const number = ++calls.last
    let resolve!: (value: unknown) => void
    const promise = new Promise<unknown>((fulfil) => {
      resolve = fulfil
    })
    const pending = { name, promise, resolve }
    calls.pending.set(number, pending)
    writeCallHead(encoded.body, FRAME_HEAD, number, nameBytes)
    encoded.body.write(name, at)
    this.#output.put(Kind.CALL, 0, job, encoded)
    this.#output.flush()
    return pending
  }

  #checkMayCall(job: WorkerJob, name: string): void {
    if (this.#hooks.inside === job)
      throw new PreforkError('ERR_PREFORK_NO_JOB', `A hook called '${shortName(name)}': hooks run beside the job and await nothing. Call it from the task.`)
    if (job.settled) throw endedError(name, job)
    if (job.cancelled && !job.mayCall) throw cancelledError(name, job, job.signal.reason)
    if ((job.flags & FLAG_CALLS) === 0)
      throw new PreforkError(
        'ERR_PREFORK_NO_CALLS',
        `The task '${job.name}' called '${shortName(name)}', but its job was given no calls: pool.run('${job.name}', [arguments], { calls: { … } }).`,
      )
  }

  #callsOf(job: WorkerJob): CallingJob {
    let calls = this.#jobs.get(job.delivery)
    if (calls === undefined) {
      calls = { last: 0, pending: new Map() }
      this.#jobs.set(job.delivery, calls)
    }
    return calls
  }

  #end(job: WorkerJob, errorFor: (name: string) => PreforkError): void {
    const calls = this.#jobs.get(job.delivery)
    if (calls === undefined) return
    this.#jobs.delete(job.delivery)
    for (const { name, promise, resolve } of calls.pending.values()) {
      // The task may await it no more: that is no fault.
      promise.catch(() => {})
      resolve(rejection(errorFor(name)))
    }
  }
}

/** The promise of a call resolves to this one: the stack of the error then has the frames of the code that awaits the call. */
const rejection = async (error: unknown): Promise<never> => {
  await undefined
  await undefined
  throw withCallerStack(error)
}

const endedError = (name: string, job: WorkerJob): PreforkError =>
  new PreforkError(
    'ERR_PREFORK_CALL_ENDED',
    `The call '${shortName(name)}' has no answer: the job '${job.name}' has ended. Await each call before the task returns.`,
  )

const cancelledError = (name: string, job: WorkerJob, cause: unknown): PreforkError =>
  new PreforkError('ERR_PREFORK_CALL_ENDED', `The call '${shortName(name)}' has no answer: the job '${job.name}' was cancelled.`, { cause })
