/** The shapes that the parts of the benchmark share. */

/** What a case asks of a pool. Each pool is configured for it as its documentation proposes; pools/index.js says how. */
export interface OpenOptions {
  workers: number
  /** Buffers will be sent. */
  binary?: boolean
  /** Jobs of very different length will be sent: a worker must not be given one behind another. */
  varied?: boolean
  /** Return as soon as calls can be made, not when every worker is up. */
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

/** 'bare': Node's own messages, no pool. */
export type PoolKind = 'prefork' | 'processes' | 'threads' | 'bare' | 'floor'

export interface PoolEntry {
  title: string
  kind: PoolKind
  /** How it is configured, in words: the page says so. */
  configuration: string
  /** The adapter's file in pools/, and what it is told. None for a floor. */
  adapter?: string
  flavour?: string
  /** What its user imports, as a specifier (or a path relative to native-bench). */
  imports?: string
  /** Can replace its workers by count or by age. */
  recycles?: boolean
  /** A worker that dies is replaced. */
  replaces?: boolean
  /** Carries Buffers. */
  binary?: boolean
}

export interface Variant {
  key: string
  title: string
  /** Part of `--quick`. */
  quick?: boolean
  /** Rounds at the most, for what takes long. */
  maxRounds?: number
}

export interface Metric {
  title: string
  unit: string
  digits: number
  better: 'more' | 'less'
}

export type Metrics = Record<string, number>

/** What a floor is asked to do; both floors, C and bare Node, understand it. */
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
  /** Opens the pool under measurement. */
  open(options: OpenOptions): Promise<OpenPool>
}

// biome-ignore lint/suspicious/noExplicitAny: a registry of cases, each with parameters of its own.
export interface Case<V extends Variant = any> {
  name: string
  title: string
  /** What it does, in a sentence or two, for the page. */
  about: string
  variants: V[]
  metrics: Record<string, Metric>
  /** The metrics and the variants that are drawn as bars; default the first of each. */
  chart?: { metric: string; variant: string }[]
  /** Seconds after which a run counts as stuck; default 60. */
  timeout?: number
  /** The pools that have a part in it; default all. */
  pools?: string[]
  /** The reason why this pool cannot do it, if there is one. */
  refuse?(entry: PoolEntry, variant: V): string | undefined
  measure(context: MeasureContext<V>): Promise<Metrics>
  /** What the floors do in this case; without it they have no part in it. */
  floor?(variant: V, quick: boolean): FloorPlan | undefined
  fromFloor?(answer: FloorAnswer): Metrics
}

export interface Spread {
  median: number
  least: number
  most: number
  rounds: number
}

/** One cell of a table: a spread for each metric, or why there is none. */
export type Cell = { metrics: Record<string, Spread> } | { reason: string }

/** By case, variant and pool. */
export type Results = Record<string, Record<string, Record<string, Cell>>>

/** Everything that a run measured: what `--json` prints and docs/benchmarks.json keeps. */
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
