import { randomUUID } from 'node:crypto'
import { encodeJob } from '../../runtime/message/job.js'
import { OptionError, refusal } from '../../util/checks.js'
import { SerializationError } from '../../wire/errors.js'
import { workerState } from '../../worker/state.js'
import { readClock } from '../store/clock-jumps.js'
import type { NewJob, StoredOptions } from '../store/store.js'
import { type AddSettings, type JobDefaults, readAddOptions } from './add-options.js'
import { validName } from './names.js'

/** The queue that a job is added to. */
export interface TargetQueue {
  readonly name: string
  readonly defaults: JobDefaults
  /** Bytes. */
  readonly maxBodySize: number
}

/** Encodes a call, with the context of the job that makes it if there is no other. Throws TypeError and SerializationError. */
export const encodeCall = (what: string, task: unknown, args: unknown, context: unknown, maxBodySize: number): Uint8Array => {
  const name = validName('task', task)
  if (!Array.isArray(args)) throw refusal('args', `an array: ${what}('${name}', [argument, …])`, args)
  const given = context === undefined ? workerState().current()?.context : context
  const { body } = encodeJob({ task: name, args, ...(given === undefined ? undefined : { context: given }) })
  if (body.length > maxBodySize)
    throw new SerializationError(
      `The arguments of '${name}' take ${body.length} bytes, and maxBodySize is ${maxBodySize}: pass a path, or an id, of what is large.`,
    )
  return body
}

/** The part of the options that is stored with the job and comes back with each claim. */
export const storedOptions = ({ maxAttempts, backoff, timeLimit, softTimeLimit, retryLost, keep }: AddSettings): StoredOptions =>
  Object.fromEntries(Object.entries({ maxAttempts, backoff, timeLimit, softTimeLimit, retryLost, keep }).filter(([, value]) => value !== undefined))

/** The time and number of the last id. */
const last = { time: 0, number: 0 }

/**
 * A UUID of version 7: ids of jobs that are added one after the other lie side by side in the index of the store. With random ones, each job that is
 * added or removed would write another page of it.
 */
export const newJobId = (now = Date.now()): string => {
  if (now > last.time) Object.assign(last, { time: now, number: 0 })
  else if (last.number < 0xfff) last.number++
  // More than 4,096 of one ms: its successor is used up before it comes.
  else Object.assign(last, { time: last.time + 1, number: 0 })
  const time = last.time.toString(16).padStart(12, '0')
  const [, , , variant, node] = randomUUID().split('-')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${last.number.toString(16).padStart(3, '0')}-${variant}-${node}`
}

/** A job as it is stored. Throws TypeError and SerializationError: nothing that is refused reaches the store. */
export const newJob = (
  what: string,
  { name, defaults, maxBodySize }: TargetQueue,
  task: unknown,
  args: unknown,
  given: unknown,
  { now, offset } = readClock(),
): NewJob => {
  const settings = readAddOptions(what, defaults, given)
  const { id = newJobId(), delay, runAt, ttl, priority = 0, dependsOn, onFailedDependency, dedup, context } = settings
  const expiresAt = ttl === undefined ? undefined : now + ttl
  if (runAt !== undefined && expiresAt !== undefined && expiresAt <= runAt)
    throw refusal('ttl', 'more than the time until runAt, or the job expires before it may begin', ttl)
  const relative = delay !== undefined && delay > 0
  return {
    id,
    queue: name,
    task: task as string,
    body: encodeCall(what, task, args, context, maxBodySize),
    options: storedOptions(settings),
    priority,
    runAt: relative ? now + delay : runAt,
    relative,
    ...(relative ? { clockOffset: offset } : undefined),
    expiresAt,
    dependsOn,
    onFailedDependency,
    dedup,
  }
}

/** Calls `make` for one of several jobs. What it throws says at which `path` the job is: `jobs[7]`. */
export const namingJob = <T>(path: string, make: () => T): T => {
  try {
    return make()
  } catch (cause) {
    if (cause instanceof OptionError) {
      const { option, reason } = cause
      throw new OptionError(`${path}.${/^(task|args|options)\b/.test(option) ? '' : 'options.'}${option}`, reason, { cause })
    }
    if (cause instanceof SerializationError) throw new SerializationError(`${path}: ${cause.message}`, { cause })
    throw cause
  }
}
