/**
 * The steps of the delay queues, ms. A job waits in the queue of the first step that is not shorter than its delay. Each step has a queue
 * of its own: only the message at the head of a queue expires, so a long delay there would hold back the shorter ones behind it.
 */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const inUnits = (unit: number, ...counts: number[]): number[] => counts.map((count) => count * unit)

export const DELAY_STEPS: readonly number[] = [
  ...inUnits(1, 100, 200, 300, 500, 700),
  ...inUnits(SECOND, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50),
  ...inUnits(MINUTE, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50),
  ...inUnits(HOUR, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 18),
  ...inUnits(DAY, 1, 1.5, 2, 3, 4, 5, 7, 10, 14, 21, 30),
]

/** The longest delay, ms: 30 days. */
export const MAX_DELAY = DELAY_STEPS.at(-1)!

/** The step for a delay. `delay`: ms, above 0 and at most `MAX_DELAY`. */
export const delayStepOf = (delay: number): number => DELAY_STEPS.find((step) => step >= delay) ?? MAX_DELAY
