import { type Check, refusal } from '../../util/checks.js'
import { nearest, shortName } from '../../util/nearest.js'
import { decode } from '../../wire/codec/index.js'
import { PreforkError, ProtocolError } from '../../wire/errors.js'
import { CALL_HEAD, callNameBytesOf, callNumberOf } from '../../wire/frame.js'
import { MAX_CALLS } from '../../wire/messages.js'
import { inCallersContext } from '../events.js'

type AnyFunction = (...args: unknown[]) => unknown

/** The option `calls`, checked: functions in the async context of the submission. Several jobs may share it. */
export class CallFunctions {
  readonly #functions = new Map<string, AnyFunction>()
  /** An async function: whatever a function throws or returns becomes a promise. */
  readonly #run = inCallersContext(async (fn: AnyFunction, args: unknown[]): Promise<unknown> => Reflect.apply(fn, undefined, args))

  /** Throws an OptionError that names what is wrong. */
  constructor(option: string, given: unknown) {
    if (!isPlain(given)) throw refusal(option, 'a plain object of functions', given)
    for (const [name, fn] of Object.entries(given)) {
      if (typeof fn !== 'function') throw refusal(`${option}.${name}`, 'a function', fn)
      this.#functions.set(name, fn as AnyFunction)
    }
  }

  /** Runs a function with these arguments alone. Never throws. */
  run(job: string, name: string, args: unknown[]): Promise<unknown> {
    const fn = this.#functions.get(name)
    return fn === undefined ? Promise.reject(unknownCall(job, name, [...this.#functions.keys()])) : this.#run(fn, args)
  }
}

/** Also accepts functions that were checked before. */
export const callFunctions: Check<CallFunctions> = (name, value) => (value instanceof CallFunctions ? value : new CallFunctions(name, value))

/** The outcome of a call. */
export type CallAnswer = { readonly value: unknown } | { readonly error: unknown }

/** One call of a running task. */
export class HostCall {
  /** The answer to be written; undefined: the function runs, or nobody waits for the answer any more. */
  answer: CallAnswer | undefined
  readonly #all: Set<HostCall>
  /** Undefined: the call has ended. The function may never return, and must not keep a worker in memory. */
  #answers: AnswerSink | undefined

  /** `all`: the calls of the job that are unanswered. */
  constructor(
    readonly number: number,
    /** Name of the function, as messages show it. */
    readonly name: string,
    readonly delivery: number,
    all: Set<HostCall>,
    answers: AnswerSink,
  ) {
    this.#all = all
    this.#answers = answers
    all.add(this)
  }

  answered(answer: CallAnswer): void {
    if (this.#answers === undefined) return
    this.answer = answer
    this.#answers.add(this)
  }

  /** The answer is being written, or nobody waits for it any more. */
  end(): void {
    this.answer = undefined
    this.#answers = undefined
    this.#all.delete(this)
  }
}

/** Sends the answers of calls: a worker. */
export interface AnswerSink {
  add(call: HostCall): void
}

/** The calls of one job. They end with the attempt that made them, and when the job settles before its task has ended. */
export class JobCalls {
  readonly #functions: CallFunctions
  readonly #outstanding = new Set<HostCall>()

  constructor(functions: CallFunctions) {
    this.#functions = functions
  }

  get outstanding(): number {
    return this.#outstanding.size
  }

  /** A CALL has come: runs its function, and passes the answer on. `job`: the name of the job. Throws a ProtocolError for a payload that no worker sends. */
  receive(job: string, delivery: number, payload: Buffer, answers: AnswerSink): void {
    const argsAt = payload.length < CALL_HEAD ? Number.POSITIVE_INFINITY : CALL_HEAD + callNameBytesOf(payload, 0)
    if (payload.length <= argsAt) throw new ProtocolError(`A CALL of ${payload.length} bytes is too short.`)
    if (this.#outstanding.size >= MAX_CALLS) throw new ProtocolError(`A CALL although ${MAX_CALLS} of its job are unanswered.`)
    const name = payload.toString('utf8', CALL_HEAD, argsAt)
    const call = new HostCall(callNumberOf(payload, 0), shortName(name), delivery, this.#outstanding, answers)
    let args: unknown
    try {
      args = decode(payload, argsAt)
    } catch (error) {
      // The arguments may be nested too deep for this process, for example.
      call.answered({ error })
      return
    }
    if (!Array.isArray(args)) throw new ProtocolError('The arguments of a CALL are not an array.')
    this.#functions.run(job, name, args).then(
      (value) => call.answered({ value }),
      (error: unknown) => call.answered({ error }),
    )
  }

  /** The attempt is over. Values that its functions still return are dropped. */
  end(): void {
    for (const call of this.#outstanding) call.end()
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // Also accepts an object of another realm (node:vm, jest).
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const unknownCall = (job: string, name: string, known: readonly string[]): PreforkError => {
  const shown = shortName(name)
  const near = nearest(shown, known)
  const list = known.length === 0 ? 'It was given none.' : `It was given: ${known.join(', ')}.`
  return new PreforkError(
    'ERR_PREFORK_UNKNOWN_CALL',
    `The job '${job}' has no call '${shown}'${near === undefined ? '.' : `; did you mean '${near}'?`} ${list}`,
  )
}
