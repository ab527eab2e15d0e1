/** What is known when the node looks at its backlog. */
export interface Load {
  /** Messages ready in the node's queues; undefined: the broker could not be asked. */
  readonly depth: number | undefined
  /** Workers at work or starting. */
  readonly alive: number
  /** Of them, those that hold no job. */
  readonly idle: number
}

export interface ScaleRule {
  readonly min: number
  readonly max: number
  readonly prefetchPerWorker: number
  readonly upBatch: number
  readonly downBatch: number
}

/**
 * How many workers there are to be. Never under `min` nor over `max`; a backlog larger than what the workers may hold brings a
 * batch more; one that the workers but one could hold retires a batch of the idle. Without a depth the round is skipped.
 */
export const wantedWorkers = ({ depth, alive, idle }: Load, { min, max, prefetchPerWorker, upBatch, downBatch }: ScaleRule): number => {
  if (alive < min) return min
  if (alive > max) return max
  if (depth === undefined) return alive
  if (depth > alive * prefetchPerWorker) return Math.min(max, alive + upBatch)
  if (depth <= (alive - 1) * prefetchPerWorker) return Math.max(min, alive - Math.min(downBatch, idle))
  return alive
}
