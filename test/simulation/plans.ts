import type { Random } from './random.js'

/**
 * What a simulated job does. `busy` is synchronous and takes time; `hang` is synchronous, never ends and stands where it can
 * be interrupted; `stuck` stands where it cannot; `never` is a promise that settles for nobody; `exit` and `crash` end the
 * process; `leftover` leaves code behind that holds the main thread for ever, once its answer is away; `place` tells which worker it is.
 */
export type PlanKind =
  | 'noop'
  | 'leftover'
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
  | 'place'

export interface Plan {
  readonly key: number
  readonly kind: PlanKind
  readonly ms: number
  /** Of items, of progress reports. */
  readonly count: number
  /** An asynchronous task that stops when its signal aborts; a stream whose generator is there at once. */
  readonly heeds: boolean
  /** What fills the pipes: it travels to the worker, and back as part of the result. */
  readonly ballast: Buffer | undefined
  /** Of a stream: how often it may be run again. */
  readonly retries?: number
}

/** The names under which they are called: 'quick' is mostly short, 'mixed' told apart by its argument only. */
export const TASKS = ['quick', 'mixed', 'slow', 'items', 'probe'] as const
export type TaskName = (typeof TASKS)[number]

export const resultOf = (plan: Plan, attempt: number): unknown => ({ key: plan.key, attempt, ballast: plan.ballast?.length ?? 0 })
export const itemOf = (plan: Plan, index: number): string => `${plan.key}/${index}`

/** A plan that never ends by itself: only a limit or a cancellation ends it. */
export const isEndless = ({ kind }: Plan): boolean => kind === 'never' || kind === 'hang' || kind === 'stuck'

const WEIGHTED: readonly PlanKind[] = [
  ...new Array<PlanKind>(14).fill('noop'),
  ...new Array<PlanKind>(5).fill('busy'),
  ...new Array<PlanKind>(7).fill('sleep'),
  'throw',
  'throw',
  'progress',
  'never',
  'hang',
  'hang',
  'stuck',
  'exit',
  'crash',
  'leftover',
  'unsendable',
]

/** ms */
export const LONGEST_PLAN = 3_000

export const drawPlan = (random: Random, key: number, kind: PlanKind = random.pick(WEIGHTED)): Plan => ({
  key,
  kind,
  ms: random.pick([0, 1, 2, 4, 7, 15, 40, 120, 600, LONGEST_PLAN]),
  count: random.below(40),
  heeds: random.chance(0.6),
  ballast: random.chance(0.12) ? Buffer.alloc(random.pick([200, 3_000, 9_000, 20_000, 70_000]), key & 0xff) : undefined,
})
