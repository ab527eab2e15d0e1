import type { Cell, Metric, Metrics } from '../types.js'

/** How much is measured: 'smoke' only shows that it runs. */
export type Size = 'smoke' | 'short' | 'full'

export interface Context {
  /** An empty folder of this measurement. */
  folder: string
  size: Size
}

export interface QueueVariant {
  title: string
  /** The server that it needs. */
  server?: 'redis' | 'postgres'
  measure(context: Context): Promise<Metrics>
}

export interface QueueCase {
  title: string
  /** One sentence for the report. */
  about: string
  variants: Record<string, QueueVariant>
  metrics: Record<string, Metric>
  /** Rounds of a full run; default: as many as asked for. */
  maxRounds?: number
  /** Seconds after which a measurement has hung. */
  timeout: number
}

/** By case and variant. */
export type QueueResults = Record<string, Record<string, Cell>>

/** One that empties a queue which was filled before. */
export interface Drain {
  /** Begins. */
  start(): Promise<unknown>
  /** Jobs that have not ended. */
  left(): Promise<number> | number
  stop(): Promise<unknown>
}

export interface DrainOptions {
  folder: string
  jobs: number
  /** Jobs that are claimed and not settled, at most. */
  outstanding: number
}

export interface Goal {
  text: string
  sense: 'at least' | 'at most'
  bound: number
  digits: number
  unit: string
  /** It compares with commits: it says nothing without a disk. */
  disk?: boolean
  value(figure: (name: string, variant: string, metric: string) => number): number
}
