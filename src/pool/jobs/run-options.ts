import { arrayOf, count, knownNames, milliseconds, plainObject, refuse } from '../../util/checks.js'
import type { JobDelivery, TaskInfo } from '../../wire/messages.js'
import type { Settings } from '../options.js'
import type { RunOptions } from '../types.js'

const NAMES = [
  'timeLimit',
  'softTimeLimit',
  'signal',
  'priority',
  'retryLost',
  'transfer',
  'context',
  'delivery',
  'id',
] as const satisfies readonly (keyof RunOptions)[]

/** What a job runs with, once the levels are merged. Limits in ms, 0 for none. */
export interface JobOptions {
  softLimit: number
  hardLimit: number
  signal: AbortSignal | undefined
  priority: number
  retryLost: number
  transfer: readonly ArrayBuffer[] | undefined
  context: unknown
  delivery: JobDelivery | undefined
  id: string | undefined
}

interface Limits {
  softTimeLimit?: number
  timeLimit?: number
}

/**
 * Limits of one level over those inherited: what the level names wins. A soft limit above the hard one that is in force is
 * dropped: it could never be reached.
 */
const over = (base: { soft: number; hard: number }, level: Limits): { soft: number; hard: number } => {
  const hard = level.timeLimit ?? base.hard
  const soft = level.softTimeLimit ?? base.soft
  if (hard === 0 || soft === 0 || hard >= soft) return { soft, hard }
  // The level's own pair was checked, so one of the two is inherited. A hard limit is never loosened in passing: the soft one gives way.
  return { soft: 0, hard }
}

const readTransfer = (name: string, given: unknown): readonly ArrayBuffer[] =>
  arrayOf(
    name,
    given,
    'an array of ArrayBuffers (pass buffer.buffer, not the Buffer)',
    'an ArrayBuffer (pass buffer.buffer, not the Buffer)',
    (each) => each instanceof ArrayBuffer,
  )

const ownLimits = (options: Record<string, unknown>): Limits => {
  const level: Limits = {}
  if (options.softTimeLimit !== undefined) level.softTimeLimit = milliseconds('softTimeLimit', options.softTimeLimit)
  if (options.timeLimit !== undefined) level.timeLimit = milliseconds('timeLimit', options.timeLimit)
  if (level.timeLimit !== undefined && level.softTimeLimit !== undefined && level.timeLimit < level.softTimeLimit) {
    throw refuse('timeLimit', `at least the softTimeLimit of ${level.softTimeLimit} ms (it ends what the soft limit only asks)`, options.timeLimit)
  }
  return level
}

/** Merges run options over `defineTask`'s over the pool's. Throws TypeError naming the option; `call`: of the pool, for the text. */
export const mergeOptions = (settings: Settings, task: TaskInfo, given: unknown, call = 'run'): JobOptions => {
  let limits = { soft: settings.softTimeLimit, hard: settings.timeLimit }
  if (task.timeLimit !== undefined || task.softTimeLimit !== undefined) limits = over(limits, task)
  if (given === undefined) {
    return {
      softLimit: limits.soft,
      hardLimit: limits.hard,
      signal: undefined,
      priority: 0,
      retryLost: task.retryLost ?? 0,
      transfer: undefined,
      context: undefined,
      delivery: undefined,
      id: undefined,
    }
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`The options of a job are an object: pool.${call}('${task.name}', [arguments], { timeLimit: 5_000 }).`)
  }
  knownNames(`pool.${call}('${task.name}', …)`, given, NAMES)
  const options = given as Record<string, unknown>
  if (options.softTimeLimit !== undefined || options.timeLimit !== undefined) limits = over(limits, ownLimits(options))
  const { signal, priority, transfer, id } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refuse('signal', 'an AbortSignal', signal)
  if (priority !== undefined && (typeof priority !== 'number' || !Number.isFinite(priority)))
    throw refuse('priority', 'a finite number (higher first)', priority)
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw refuse('id', 'a non-empty string', id)
  return {
    softLimit: limits.soft,
    hardLimit: limits.hard,
    signal,
    priority: priority ?? 0,
    retryLost: options.retryLost === undefined ? (task.retryLost ?? 0) : count('retryLost', options.retryLost, 0),
    transfer: transfer === undefined ? undefined : readTransfer('transfer', transfer),
    context: options.context,
    delivery: options.delivery === undefined ? undefined : (plainObject('delivery', options.delivery) as unknown as JobDelivery),
    id,
  }
}
