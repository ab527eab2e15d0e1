import type { Metric, Metrics } from '../types.js'

/** How much is measured: 'smoke' only shows that it runs. */
export type Size = 'smoke' | 'full'

/** The entry point of the package that a node comes from. */
export type Kind = 'amqp' | 'queue' | 'faktory'

/** Where a measurement takes place. */
export interface Place {
  /** The name of its queue. */
  name: string
  /** An empty folder. */
  folder: string
  /** Of the Faktory server. */
  faktoryUrl: string
}

export interface Broker {
  title: string
  kind: Kind
  /** The options by which a node takes its jobs from there. */
  node(place: Place): Record<string, unknown>
  /** The options of the publisher, or of the queue. */
  publisher(place: Place): Record<string, unknown>
  /** Removes what a measurement leaves there. */
  remove(place: Place): Promise<void>
}

/** Publishes to the queue of a measurement. */
export interface JobPublisher {
  /** A job for each array of arguments. `once`: a job that fails is not tried again. */
  publish(task: string, jobs: unknown[][], options?: { once?: boolean }): Promise<void>
  close(): Promise<unknown>
}

/** A measurement. */
export interface Plan extends Place {
  case: string
  variant: string
  /** The folder of the built package. */
  dist: string
  /** Options of the node beside those of the case. */
  options: Record<string, unknown>
  size: Size
  round: number
}

/** The node that a process runs. */
export interface NodePlan {
  dist: string
  kind: Kind
  options: Record<string, unknown>
  /** Its events are read, which costs it something for each job. */
  events: boolean
}

/** What a node is to have reached. */
export interface Awaited {
  /** Jobs that have ended. */
  ended?: number
  /** Workers that are up. */
  alive?: number
}

/** A node at one time. */
export interface Report {
  /** ms on the monotonic clock, which all processes of a machine share. */
  at: number
  /** Jobs that have succeeded, or were over their time limit. */
  ended: number
  /** CPU of the node's process so far, µs. */
  micros: number
  alive: number
  /** Workers at the most so far. */
  most: number
  /** Jobs that were over their hard time limit; 0 without events. */
  overLimit: number
  /** Of the workers. */
  pids: number[]
}

export interface RunningNode {
  /** ms on the monotonic clock. */
  upAt: number
  /** Resolves when the node has reached it. */
  reached(wanted: Awaited): Promise<Report>
  stop(): Promise<unknown>
}

/** What a task has written about its run. */
export interface Stamp {
  /** The number of the job. */
  n: number
  pid: number
  /** ms on the monotonic clock. */
  began: number
  ended: number
}

export interface ScalingVariant {
  title: string
  /** In BROKERS. */
  broker: string
  /** Part of `--smoke`. */
  smoke?: boolean
  /** The jobs are published before the node starts. */
  before?: boolean
}

export interface ScalingCase {
  title: string
  about: string
  variants: Record<string, ScalingVariant>
  metrics: Record<string, Metric>
  /** The metric whose ratio is of interest. */
  ratio?: string
  /** The fixed fleet beside the defaults. */
  fixed?: { title: string; options(kind: Kind): Record<string, unknown> }
  /** s after which a measurement has hung. */
  timeout: number
  measure(plan: Plan, variant: ScalingVariant): Promise<Metrics>
}

/** A node beside which others are compared. */
export interface Subject {
  title: string
  dist: string
  options(kind: Kind): Record<string, unknown>
}

/** The figures of each round, or the reason why there are none. */
export type Figures = { rounds: Metrics[] } | { reason: string }

/** By case, variant and subject. */
export type ScalingResults = Record<string, Record<string, Record<string, Figures>>>

export type { Metric, Metrics }
