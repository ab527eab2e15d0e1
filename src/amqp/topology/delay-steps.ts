/**
 * The steps of the delay queues, ms. A delay waits in the queue of the first step that is not shorter: one queue for each
 * step, because a queue gives up only what stands at its head, and a long delay there would hold up every short one behind it.
 */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const of = (unit: number, ...counts: number[]): number[] => counts.map((count) => count * unit)

export const DELAY_STEPS: readonly number[] = [
  ...of(1, 100, 200, 300, 500, 700),
  ...of(SECOND, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50),
  ...of(MINUTE, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50),
  ...of(HOUR, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 18),
  ...of(DAY, 1, 1.5, 2, 3, 4, 5, 7, 10, 14, 21, 30),
]

/** The longest delay there is, ms: 30 days. */
export const MAX_DELAY = DELAY_STEPS.at(-1)!

/** The step that a delay waits in. `delay`: ms, above 0 and at most `MAX_DELAY`. */
export const delayStepOf = (delay: number): number => DELAY_STEPS.find((step) => step >= delay) ?? MAX_DELAY
