import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { types } from 'node:util'
import { type Check, millisecondsOrZero, plainObject, refusal } from '../util/checks.js'
import { clearTimeout, setTimeout } from '../util/node-time.js'
import { type OptionTable, option, readOptions } from '../util/option-table.js'
import { deferred, withTimeout } from '../util/with-timeout.js'
import type { NodeParts } from './node-stats.js'
import type { ShutdownOptions, ShutdownReport } from './types.js'

/** ms that a task has to react to its aborted signal before its worker is killed. */
const TERMINATE_TIMEOUT = 500
/** ms that the stop hooks of idle workers have. Never beyond the grace. */
const STOP_HOOKS_TIMEOUT = 5_000
/** ms that settlements have to reach the broker. */
const SETTLE_TIMEOUT = 800
/** ms that a broker has to end what it has asked for, where it cannot give back what comes of it. */
const STOP_TIMEOUT = 3_000
/** ms from the end of the workers to that of such a node, with the close of its broker: 5 s beyond the grace with what they take. */
const END_TIMEOUT = 4_000
/** ms of them that the close has at least. */
const CLOSE_TIMEOUT = 500
/** ms for the stop of the consumer and the requeue of deliveries whose settlement did not reach the broker. */
const FINAL_TIMEOUT = 300

const text: Check<string> = (name, value) => {
  if (typeof value !== 'string') throw refusal(name, 'a string', value)
  return value
}

const anError: Check<Error> = (name, value) => {
  // An error of another realm is no instance.
  if (!(value instanceof Error || types.isNativeError(value))) throw refusal(name, 'an Error', value)
  return value
}

const SHUTDOWN_OPTIONS = {
  grace: option('ms', millisecondsOrZero, undefined, 'time that jobs in flight have', '`shutdownGrace`'),
  reason: option('text', text, 'shutdown()', 'why, for the log and the event `node.down`'),
  error: option('error', anError, undefined, 'why the node cannot go on'),
} satisfies OptionTable<ShutdownOptions>

/** Validates the options of `node.shutdown`. Throws TypeError naming the option. */
export const readShutdownOptions = (given: unknown) => readOptions(SHUTDOWN_OPTIONS, 'node.shutdown', given === undefined ? {} : plainObject('options', given))

/** The end of a shutdown's grace. It can be brought forward, never put off. */
export class ShutdownDeadline {
  readonly #expired = deferred()
  #endsAt = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.shorten(ms)
  }

  get expired(): Promise<void> {
    return this.#expired.promise
  }

  /** Makes the deadline expire after `ms` at the latest. */
  shorten(ms: number): void {
    const endsAt = performance.now() + ms
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#expired.resolve, ms)
  }

  /** ms */
  get left(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

const proceed = (): void => {}

/** How a drain has ended, and ms that the close of the broker may take; undefined: it bounds itself. */
interface Drained {
  readonly report: ShutdownReport
  readonly closeWithin: number | undefined
}

/** Drains until the deadline, kills the jobs that still run, and settles them. The broker is still open afterwards. */
export const drain = async ({ broker, runtime, pool, prefetch, settings }: NodeParts, deadline: ShutdownDeadline): Promise<Drained> => {
  const requeues = broker.canRequeue !== false
  const requeuedBefore = runtime.requeued
  // Before the jobs are given back: the end of an isolation would take more.
  const stopped = prefetch.stop().catch((err: unknown) => settings.logger?.warn({ err }, 'the consumer could not be stopped'))
  if (requeues) runtime.release()
  let empty = false
  const emptied = (requeues ? runtime.empty() : stopped.then(() => runtime.empty())).then(() => {
    empty = true
  })
  await Promise.race([emptied, deadline.expired])
  if (!empty) {
    if (!requeues) runtime.release()
    runtime.kill()
  }
  await pool.close({ timeout: empty ? Math.max(TERMINATE_TIMEOUT, Math.min(STOP_HOOKS_TIMEOUT, deadline.left)) : TERMINATE_TIMEOUT })
  const endsAt = performance.now() + END_TIMEOUT
  const within = (ms: number): number => (requeues ? ms : Math.max(0, Math.min(ms, endsAt - CLOSE_TIMEOUT - performance.now())))
  // The runtime hears of a job that has not succeeded some microtasks after the pool has settled it.
  await nextTurn()
  const killed = runtime.settleKilled()
  // What still comes is settled, too.
  if (!requeues) await withTimeout(stopped, within(STOP_TIMEOUT), proceed)
  await withTimeout(runtime.settled(), within(SETTLE_TIMEOUT), proceed)
  await withTimeout(runtime.settled(true), within(FINAL_TIMEOUT), proceed)
  await withTimeout(stopped, within(FINAL_TIMEOUT), proceed)
  runtime.close()
  const { left } = runtime
  return {
    report: { clean: killed === 0 && left === 0, requeued: runtime.requeued - requeuedBefore, killed, ...(left === 0 ? undefined : { left }) },
    closeWithin: requeues ? undefined : Math.max(CLOSE_TIMEOUT, endsAt - performance.now()),
  }
}
