/**
 * The steps of the delay queues, ms. A job waits in the queue of the first step that is not shorter than its delay. Each step has a queue
 * of its own: only the message at the head of a queue expires, so a long delay there would hold back the shorter ones behind it.
 */

const SECOND = 1_000
/** A step is longer than the one before by this share at most, or by a second. */
const SHARE = 0.02

/** The longest delay, ms: 30 days. */
export const MAX_DELAY = 30 * 24 * 60 * 60 * SECOND

/** In whole seconds. */
const nextStep = (step: number): number => step + Math.max(SECOND, Math.floor((step * SHARE) / SECOND) * SECOND)

const longSteps = (): number[] => {
  const steps: number[] = []
  for (let step = SECOND; step < MAX_DELAY; step = nextStep(step)) steps.push(step)
  return [...steps, MAX_DELAY]
}

/** A job is late by a second or by 2 % of its delay at most, whichever is more. A queue is declared when a job needs it. */
export const DELAY_STEPS: readonly number[] = [100, 200, 300, 500, 700, ...longSteps()]

/** The step for a delay. `delay`: ms, above 0 and at most `MAX_DELAY`. */
export const delayStepOf = (delay: number): number => DELAY_STEPS.find((step) => step >= delay) ?? MAX_DELAY
