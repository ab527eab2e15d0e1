/** The exponential delay before attempt `failures` + 1: `first` after one failure, doubled by each further one, at most `max`. All in ms. */
export const exponentialDelay = (failures: number, first: number, max: number): number => Math.min(max, first * 2 ** (failures - 1))

/** Takes up to `share` (0 to 1) of a delay off at random, so that many clients do not retry in step. `random` gives numbers from 0 to 1. */
export const jittered = (delay: number, share: number, random: () => number = Math.random): number => Math.round(delay * (1 - share * random()))
