import { type Check, choice, countFrom, milliseconds, millisecondsOrZero, objectWith, refusal } from './checks.js'

/** The wait before attempt n + 1. ms; `jitter` is a share of the wait, 0 to 1, taken off at random. */
export interface Backoff {
  readonly kind: 'fixed' | 'exponential'
  readonly delay: number
  readonly maxDelay?: number
  readonly jitter?: number
}

const share: Check<number> = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw refusal(name, 'a share from 0 to 1', value)
  return value
}

const backoffKind = choice('fixed', 'exponential')

const BACKOFF_NAMES = ['kind', 'delay', 'maxDelay', 'jitter'] as const satisfies readonly (keyof Backoff)[]

/** The check of a backoff whose times these checks take. */
export const backoffOf =
  (delayOf: Check<number>, maxDelayOf: Check<number>): Check<Backoff> =>
  (name, value) => {
    const { kind, delay, maxDelay, jitter } = objectWith(name, value, BACKOFF_NAMES)
    const first = delayOf(`${name}.delay`, delay)
    const longest = maxDelay === undefined ? undefined : maxDelayOf(`${name}.maxDelay`, maxDelay)
    if (longest !== undefined && longest < first) throw refusal(`${name}.maxDelay`, `at least the delay of ${first} ms`, maxDelay)
    return {
      kind: backoffKind(`${name}.kind`, kind),
      delay: first,
      ...(longest === undefined ? undefined : { maxDelay: longest }),
      ...(jitter === undefined ? undefined : { jitter: share(`${name}.jitter`, jitter) }),
    }
  }

/** The `backoff` of a task. */
export const backoff = backoffOf(millisecondsOrZero, milliseconds)

/** The `maxAttempts` of a task. */
export const maxAttempts = countFrom(1)

/** The exponential delay before attempt `failures` + 1: `first` after one failure, doubled by each further one, at most `max`. All in ms. */
export const exponentialDelay = (failures: number, first: number, max: number): number => Math.min(max, first * 2 ** (failures - 1))

/** Takes up to `share` (0 to 1) of a delay off at random, so that many clients do not retry in step. `random` gives numbers from 0 to 1. */
export const jittered = (delay: number, share: number, random: () => number = Math.random): number => Math.round(delay * (1 - share * random()))
