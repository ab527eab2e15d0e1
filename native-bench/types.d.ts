/** Types of the benchmark. */

/** The requirements of a case. Each pool is configured for them as its documentation recommends (pools/index.js). */
export interface OpenOptions {
  workers: number
  /** Buffers are sent. */
  binary?: boolean
  /** Jobs differ in length: no job may be queued behind another in a worker. */
  varied?: boolean
  /** Return as soon as calls are possible, not when every worker is up. */
  eager?: boolean
  /** A worker is replaced after so many jobs. */
  jobsPerWorker?: number
  /** A worker is replaced at this age, ms. */
  workerAge?: number
}

export interface OpenPool {
  call(task: string, value?: unknown): Promise<unknown>
  close(): Promise<unknown>
}

export interface PoolModule {
  open(options: OpenOptions, flavour: string): OpenPool | Promise<OpenPool>
}

/** 'bare': Node's own messages without a pool. */
export type PoolKind = 'prefork' | 'processes' | 'threads' | 'bare' | 'floor'

export interface PoolEntry {
  title: string
  kind: PoolKind
  /** The configuration as the page describes it. */
  configuration: string
  /** The adapter's file in pools/, and its argument. A floor has none. */
  adapter?: string
  flavour?: string
  /** The specifier that users import, or a path relative to native-bench. */
  imports?: string
  /** Can replace its workers by count or by age. */
  recycles?: boolean
  /** A worker that dies is replaced. */
  replaces?: boolean
  /** Buffers arrive as bytes. */
  binary?: boolean
}

export interface Variant {
  key: string
  title: string
  /** Part of `--quick`. */
  quick?: boolean
  /** Part of `--quick --all`: the page or its targets have it. */
  page?: {
    /** In each round. Default: in one, as it takes long, or changes little. */
    often?: boolean
    /** The pools that take part then; default: all of the case. */
    pools?: string[]
  }
  /** Rounds at most, for slow variants. */
  maxRounds?: number
}

export interface Metric {
  title: string
  unit: string
  digits: number
  better: 'more' | 'less'
}

export type Metrics = Record<string, number>

/** The work of a floor, for both floors, C and Node. */
export interface FloorPlan {
  mode: 'throughput' | 'roundtrip' | 'start'
  workers?: number
  outstanding?: number
  /** Bytes each way. */
  size?: number
  seconds?: number
}

export interface FloorAnswer {
  jobs?: number
  perSecond?: number
  hostMicros?: number
  p50?: number
  p99?: number
  p999?: number
  ms?: number
}

export interface MeasureContext<V extends Variant> {
  /** The pool's name in pools/index.js. */
  pool: string
  entry: PoolEntry
  variant: V
  quick: boolean
  /** Opens the measured pool. */
  open(options: OpenOptions): Promise<OpenPool>
}

// biome-ignore lint/suspicious/noExplicitAny: a registry of cases with different parameters.
export interface Case<V extends Variant = any> {
  name: string
  title: string
  /** A description for the page, one or two sentences. */
  about: string
  variants: V[]
  metrics: Record<string, Metric>
  /** The metrics and variants in the chart; default: the first of each. */
  chart?: { metric: string; variant: string }[]
  /** Seconds after which a run has hung; default 60. */
  timeout?: number
  /** The same with `--quick`. */
  quickTimeout?: number
  /** The pools that take part; default: all. */
  pools?: string[]
  /** The reason why this pool cannot take part, if there is one. */
  refuse?(entry: PoolEntry, variant: V): string | undefined
  measure(context: MeasureContext<V>): Promise<Metrics>
  /** The work of the floors in this case; without it they take no part. */
  floor?(variant: V, quick: boolean): FloorPlan | undefined
  fromFloor?(answer: FloorAnswer): Metrics
}

export interface Spread {
  median: number
  least: number
  most: number
  rounds: number
}

/** A cell of a table: a spread for each metric, or the reason of its absence. */
export type Cell = { metrics: Record<string, Spread> } | { reason: string }

/** By case, variant and pool. */
export type Results = Record<string, Record<string, Record<string, Cell>>>

/** The results of a run, as `--json` prints and docs/benchmarks.json stores them. */
export interface Run {
  machine: Machine
  rounds: string
  results: Results
}

export interface Machine {
  cpu: string
  cores: number
  memoryGB: number
  system: string
  node: string
  commit: string
  date: string
  command: string
}
