import type { Goal } from '../queue/types.js'
import type { Cell, Metric, Metrics } from '../types.js'

/** How much is measured: 'smoke' only shows that it runs. */
export type Size = 'smoke' | 'short' | 'full'

/** What a worker is to empty. */
export interface Load {
  url: string
  queue: string
  /** Connections that fetch. */
  connections: number
}

/** A worker that runs the jobs of a queue. */
export interface Running {
  stop(): Promise<unknown>
}

export interface FaktoryVariant {
  title: string
  /** It is no part of prefork, and needs its package. */
  peer?: boolean
  /** Starts it. */
  start(load: Load): Promise<Running>
}

/** By variant. */
export type FaktoryResults = Record<string, Cell>

export type { Cell, Goal, Metric, Metrics }
