import type { Backoff } from './delivery.js'

/** Timers of Node and TTLs of brokers hold no more: about 24.8 days, ms. */
const MAX_DELAY = 0x7fff_ffff

/** The wait after attempt `attempt` (from 1), ms. `random` gives numbers from 0 to 1. */
export const retryDelay = (backoff: Backoff, attempt: number, random: () => number = Math.random): number => {
  const { kind, delay, maxDelay = MAX_DELAY, jitter = 0 } = backoff
  const full = Math.min(kind === 'fixed' ? delay : delay * 2 ** (attempt - 1), maxDelay, MAX_DELAY)
  return Math.round(full * (1 - jitter * random()))
}
