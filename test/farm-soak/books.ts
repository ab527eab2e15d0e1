/** What the soak did to the farm. All times in ms since the epoch. */

export interface Publication {
  readonly id: string
  readonly poison: boolean
  readonly began: number
  /** Undefined until the broker has confirmed it. */
  confirmed: number | undefined
  /** Times that the soak itself sent it again. */
  again: number
}

/** A connection cut. */
export interface Cut {
  readonly at: number
  /** A node's number, or 'publisher'. */
  readonly who: number | 'publisher'
  /** A restart of the broker cuts all, somewhen between `at` and this. */
  until?: number
}

export interface Books {
  readonly publications: Map<string, Publication>
  /** SIGKILLs of workers and nodes, by pid. */
  readonly killedWorkers: Map<number, number>
  readonly killedNodes: Map<number, number>
  readonly cuts: Cut[]
  /** The number of the node that had this pid. */
  readonly nodeNumbers: Map<number, number>
  /** What went wrong beside the jobs. */
  readonly troubles: string[]
}

export const newBooks = (): Books => ({
  publications: new Map(),
  killedWorkers: new Map(),
  killedNodes: new Map(),
  cuts: [],
  nodeNumbers: new Map(),
  troubles: [],
})
