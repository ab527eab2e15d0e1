import type { FarmEvent, NodeStats } from '../../runtime/report/report.js'
import { FarmHistory, type FarmTime } from './farm-history.js'
import { NodeModel } from './node-model.js'
import { MAX_SECONDS } from './samples.js'
import type { NodeTask } from './task-list.js'

/** ms that a node stays in the list after its end has been noticed, for its reason to be read. */
const FORGET_AFTER = 60_000

/** All nodes that are there, together. Counts are those since each node's start. */
export interface FarmTotals {
  readonly nodes: number
  readonly workers: number
  /** Workers that run a job. */
  readonly busy: number
  /** Jobs ready in the queues: a queue of several nodes counts once. Undefined: no node has told. */
  readonly depth: number | undefined
  readonly held: number
  readonly prefetch: number
  readonly running: number
  /** Jobs that ended per second; a node that is silent has none. */
  readonly rate: number
  /** Bytes: of the nodes and their workers. */
  readonly rss: number
  readonly jobs: NodeStats['totals']
}

/** All nodes, as their events describe them. It knows no terminal: the views ask it. */
export class FarmModel {
  readonly #byName = new Map<string, NodeModel>()
  /** When the end of a node was noticed, and whether `newlyGone` has told it. */
  readonly #gone = new Map<NodeModel, { readonly at: number; told: boolean }>()
  readonly #history = new FarmHistory()
  readonly #isConnected: () => boolean

  /** `isConnected`: whether events can arrive now. */
  constructor(isConnected: () => boolean = () => true) {
    this.#isConnected = isConnected
  }

  /** False: the dashboard has lost its own connection to the broker. Of the nodes it knows only what was. */
  get connected(): boolean {
    return this.#isConnected()
  }

  /** `now`: by the clock of this machine, ms since the epoch. */
  apply(event: FarmEvent, now: number): void {
    let node = this.#byName.get(event.node)
    if (node === undefined) {
      node = new NodeModel(event.node)
      this.#byName.set(event.node, node)
    }
    const before = node.samples.at(-1)
    node.apply(event, now)
    const sample = node.samples.at(-1)
    if (sample !== undefined && sample !== before) this.#history.add(sample)
    if ((event.type === 'task.succeeded' || event.type === 'task.failed' || event.type === 'task.retried') && event.worker !== undefined)
      this.#history.ran(event.duration, now)
  }

  get(name: string): NodeModel | undefined {
    return this.#byName.get(name)
  }

  /** By name: those that are there, and those that have gone within the last minute. */
  nodes(now: number): NodeModel[] {
    this.#noticeEnds(now)
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** By name: those that are there. */
  present(now: number): NodeModel[] {
    return this.nodes(now).filter((node) => node.goneReason(now) === undefined)
  }

  /** Nodes whose end is noticed by this call: each is returned once, until it comes back. */
  newlyGone(now: number): NodeModel[] {
    this.#noticeEnds(now)
    const untold = [...this.#gone].filter(([, { told }]) => !told)
    for (const [, end] of untold) end.told = true
    return untold.map(([node]) => node)
  }

  #noticeEnds(now: number): void {
    const { connected } = this
    for (const node of this.#byName.values()) {
      if (!connected) node.cannotBeHeard(now)
      if (node.goneReason(now) === undefined) this.#gone.delete(node)
      else if (!this.#gone.has(node)) this.#gone.set(node, { at: now, told: false })
    }
    for (const [node, { at }] of this.#gone) {
      // The clock may have been set back.
      if (Math.abs(now - at) <= FORGET_AFTER) continue
      this.#byName.delete(node.name)
      this.#gone.delete(node)
    }
  }

  totals(now: number): FarmTotals {
    const nodes = this.present(now)
    const all = nodes.flatMap(({ stats }) => stats ?? [])
    const sum = (of: (stats: NodeStats) => number): number => all.reduce((total, stats) => total + of(stats), 0)
    const jobs = (name: keyof NodeStats['totals']): number => sum(({ totals }) => totals[name])
    return {
      nodes: nodes.length,
      workers: sum(({ scale }) => scale.alive),
      busy: sum(({ workers }) => workers.filter(({ running }) => running > 0).length),
      depth: depthOf(all),
      held: sum(({ held }) => held),
      prefetch: sum(({ prefetch }) => prefetch),
      running: sum(({ running }) => running),
      rate: nodes.reduce((total, node) => total + (node.rateAt(now) ?? 0), 0),
      rss: sum(({ rss, workers }) => rss + workers.reduce((total, worker) => total + worker.rss, 0)),
      jobs: {
        received: jobs('received'),
        succeeded: jobs('succeeded'),
        failed: jobs('failed'),
        retried: jobs('retried'),
        revoked: jobs('revoked'),
        lost: jobs('lost'),
        deadLettered: jobs('deadLettered'),
        recognised: jobs('recognised'),
        refused: jobs('refused'),
      },
    }
  }

  /** The jobs of the nodes that are there, in no order. */
  tasks(now: number): NodeTask[] {
    return this.present(now).flatMap(({ tasks }) => tasks.records())
  }

  /** The names of the queues of the nodes that are there. */
  queues(now: number): string[] {
    return [...new Set(this.present(now).flatMap(({ stats }) => stats?.queues ?? []))].sort()
  }

  /** The last seconds, oldest first, in steps of so many. Default the last ten minutes, each second. */
  seconds(now: number, count = MAX_SECONDS, step = 1): FarmTime[] {
    return this.#history.report(now, count, step)
  }
}

/** Nodes with the same queues report the same backlog, each as of its last look. */
const depthOf = (all: readonly NodeStats[]): number | undefined => {
  const byQueues = new Map<string, number>()
  for (const { queues, depth } of all) if (depth !== undefined) byQueues.set([...queues].sort().join('\n'), depth)
  return byQueues.size === 0 ? undefined : [...byQueues.values()].reduce((sum, depth) => sum + depth, 0)
}
