import type { Random } from './random.js'

/**
 * What a simulated job does:
 * - `busy` is a synchronous call that takes time.
 * - `hang` is a synchronous call that never ends, at a place where it can be interrupted; `stuck` cannot be interrupted.
 * - `never` returns a promise that never settles.
 * - `exit` and `crash` end the process.
 * - `detached` returns a result and leaves a timer behind whose code blocks the main thread forever.
 * - `ident` returns the id of its worker.
 * - `call` calls functions of the host.
 */
export type PlanKind =
  | 'noop'
  | 'detached'
  | 'busy'
  | 'sleep'
  | 'throw'
  | 'progress'
  | 'never'
  | 'hang'
  | 'stuck'
  | 'exit'
  | 'crash'
  | 'items'
  | 'unsendable'
  | 'ident'
  | 'call'

export interface Plan {
  readonly key: number
  readonly kind: PlanKind
  readonly ms: number
  /** The number of items, or of progress reports. */
  readonly count: number
  /** `sleep` rejects as soon as its signal aborts; `items` returns its generator at once, not after `ms`. */
  readonly eager: boolean
  /** Bytes that fill the pipes: sent to the worker, and by `noop` back as a part of the result. */
  readonly padding: Buffer | undefined
  /** The job's `retryLost`, for a stream or a broadcast: their jobs have no record in the script. */
  readonly retries?: number
}

/** The names of the tasks. The jobs of 'quick' are mostly short; those of 'mixed' differ in their argument only. */
export const TASKS = ['quick', 'mixed', 'slow', 'items', 'probe'] as const
export type TaskName = (typeof TASKS)[number]

export const resultOf = (plan: Plan, attempt: number): unknown => ({ key: plan.key, attempt, padding: plan.padding?.length ?? 0 })
export const itemOf = (plan: Plan, index: number): string => `${plan.key}/${index}`

/** It calls a function that never answers, and waits for it. */
export const awaitsForever = ({ kind, count }: Plan): boolean => kind === 'call' && count >= 38

/** The job never ends by itself: only a limit or a cancellation ends it. */
export const isEndless = (plan: Plan): boolean => plan.kind === 'never' || plan.kind === 'hang' || plan.kind === 'stuck' || awaitsForever(plan)

const WEIGHTED: readonly PlanKind[] = [
  ...new Array<PlanKind>(14).fill('noop'),
  ...new Array<PlanKind>(5).fill('busy'),
  ...new Array<PlanKind>(7).fill('sleep'),
  ...new Array<PlanKind>(4).fill('call'),
  'throw',
  'throw',
  'progress',
  'never',
  'hang',
  'hang',
  'stuck',
  'exit',
  'crash',
  'detached',
  'unsendable',
]

/** The longest `ms` of a plan. */
export const LONGEST_PLAN = 3_000

export const drawPlan = (random: Random, key: number, kind: PlanKind = random.pick(WEIGHTED)): Plan => ({
  key,
  kind,
  ms: random.pick([0, 1, 2, 4, 7, 15, 40, 120, 600, LONGEST_PLAN]),
  count: random.below(40),
  eager: random.chance(0.6),
  padding: random.chance(0.12) ? Buffer.alloc(random.pick([200, 3_000, 9_000, 20_000, 70_000]), key & 0xff) : undefined,
})
