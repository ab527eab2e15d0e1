/** The errors of prefork. Each has a stable `code`: match on it, or with `instanceof`, not on the message. */

export class PreforkError extends Error {
  /** Stable identifier, `ERR_PREFORK_…`. */
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Why a worker was lost. */
export type LostReason = 'exit' | 'signal' | 'frozen' | 'write failed' | 'protocol' | 'put back too often' | 'killed by the pool'

export interface WorkerLostDetails {
  /** True: the job had begun, or may have begun. False: it had not. */
  accepted: boolean
  reason: LostReason
  exitCode?: number | null
  signal?: string | null
  /** The last lines that the worker wrote to stderr, as far as the pool could see them. */
  stderr?: string
}

/** The worker died while it held the job. */
export class WorkerLostError extends PreforkError {
  readonly accepted: boolean
  readonly reason: LostReason
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stderr: string
  constructor(message: string, details: WorkerLostDetails, options?: ErrorOptions) {
    super('ERR_PREFORK_WORKER_LOST', message, options)
    this.accepted = details.accepted
    this.reason = details.reason
    this.exitCode = details.exitCode ?? null
    this.signal = details.signal ?? null
    this.stderr = details.stderr ?? ''
  }
}

/** No worker could be started; `cause` is the task module's own error where there is one. */
export class WorkerStartError extends PreforkError {
  /** The last lines that the worker wrote to stderr. */
  readonly stderr: string
  constructor(message: string, options?: ErrorOptions & { stderr?: string }) {
    super('ERR_PREFORK_WORKER_START', message, options)
    this.stderr = options?.stderr ?? ''
  }
}

/** The hard time limit passed: the worker was killed. */
export class TimeLimitError extends PreforkError {
  /** The limit, in ms. */
  readonly limit: number
  /** The JavaScript stack of the task at that moment. */
  readonly taskStack: string
  constructor(message: string, limit: number, taskStack: string) {
    super('ERR_PREFORK_TIME_LIMIT', message)
    this.limit = limit
    this.taskStack = taskStack
  }
}

/** The soft time limit passed. It is the reason of the task's `AbortSignal`, and the rejection of a job that the signal did not stop. */
export class SoftTimeLimitError extends PreforkError {
  /** The limit, in ms. */
  readonly limit: number
  /** The JavaScript stack of the task at that moment; empty in the reason of its signal. */
  readonly taskStack: string
  constructor(message: string, limit: number, taskStack = '') {
    super('ERR_PREFORK_SOFT_TIME_LIMIT', message)
    this.limit = limit
    this.taskStack = taskStack
  }
}

/** The worker's memory exceeded `hardMemoryLimit` while it ran the job. */
export class MemoryLimitError extends PreforkError {
  /** The limit, in bytes. */
  readonly limit: number
  /** What was measured, in bytes. */
  readonly rss: number
  constructor(message: string, limit: number, rss: number) {
    super('ERR_PREFORK_MEMORY_LIMIT', message)
    this.limit = limit
    this.rss = rss
  }
}

/** `maxQueue` jobs are waiting already. */
export class QueueFullError extends PreforkError {
  constructor(message: string) {
    super('ERR_PREFORK_QUEUE_FULL', message)
  }
}

/** No task module exports a function of that name. */
export class TaskNotFoundError extends PreforkError {
  /** The names of all tasks. */
  readonly known: readonly string[]
  constructor(message: string, known: readonly string[]) {
    super('ERR_PREFORK_TASK_NOT_FOUND', message)
    this.known = known
  }
}

/** A value cannot cross the process boundary, or is larger than `maxMessageSize`. */
export class SerializationError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_SERIALIZATION', message, options)
  }
}

/** The pool was closed or terminated. */
export class PoolClosedError extends PreforkError {
  /** True: the job had begun, or may have begun. False: it had not, or the call was refused. */
  readonly accepted: boolean
  constructor(message: string, accepted = false) {
    super('ERR_PREFORK_POOL_CLOSED', message)
    this.accepted = accepted
  }
}

/** A frame that cannot be read. The pool kills the worker that sent it. */
export class ProtocolError extends PreforkError {
  constructor(message: string) {
    super('ERR_PREFORK_PROTOCOL', message)
  }
}

/**
 * A task throws it to say that no further attempt can help: under a node its job fails at once, and becomes a dead letter. Under a pool without a broker it is
 * an error as any. A subclass means the same; so does an error of any class whose `name` is 'UnrecoverableError', as under BullMQ.
 */
export class NonRetryableError extends PreforkError {
  constructor(message?: string, options?: ErrorOptions) {
    super('ERR_PREFORK_NON_RETRYABLE', message ?? '', options)
  }
}

/**
 * A task throws it to say when the next attempt is to be. Under a node the attempt counts as failed, as with any error, and `delay` takes the place of the
 * backoff. Under a pool without a broker it is an error as any.
 */
export class RetryAfterError extends PreforkError {
  /** ms before the next attempt. A broker that cannot wait so long waits as long as it can. */
  readonly delay: number
  /** Throws TypeError for a delay that is no finite number of at least 0. */
  constructor(message: string, options: ErrorOptions & { readonly delay: number }) {
    const delay: unknown = (options as { readonly delay?: unknown } | null | undefined)?.delay
    if (typeof delay !== 'number' || !(delay >= 0) || delay === Number.POSITIVE_INFINITY)
      throw new TypeError(
        `new RetryAfterError(message, { delay }): 'delay' must be the milliseconds before the next attempt, a finite number of 0 or more; it was given ${typeof delay === 'object' && delay !== null ? 'an object' : typeof delay === 'string' ? `the text '${delay}'` : String(delay)}.`,
      )
    super('ERR_PREFORK_RETRY_AFTER', message, options)
    this.delay = delay
  }
}

/** The classes of this file by name. Their order is sent (see codec/error-classes.ts): append only. */
export const ERROR_CLASSES = {
  PreforkError,
  WorkerLostError,
  WorkerStartError,
  TimeLimitError,
  SoftTimeLimitError,
  MemoryLimitError,
  QueueFullError,
  TaskNotFoundError,
  SerializationError,
  PoolClosedError,
  ProtocolError,
  NonRetryableError,
  RetryAfterError,
}

// Set here, not in the classes: a bundler renames a class that refers to itself, and stacks would show that name.
for (const [name, { prototype }] of Object.entries(ERROR_CLASSES)) prototype.name = name
