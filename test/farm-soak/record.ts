/** What the soak published, killed and cut. All times in ms since the epoch. */

export interface Publication {
  readonly id: string
  readonly poison: boolean
  readonly began: number
  /** Undefined until the broker has confirmed it. */
  confirmed: number | undefined
  /** Times that the soak itself published it again. */
  resent: number
}

/** A connection that the soak cut. */
export interface Cut {
  readonly at: number
  /** The number of the node whose connection it was, or 'publisher'. */
  readonly client: number | 'publisher'
  /** A restart of the broker cuts all connections between `at` and this time. */
  until?: number
}

export interface SoakRecord {
  readonly publications: Map<string, Publication>
  /** SIGKILLs of workers and nodes, by pid. */
  readonly killedWorkers: Map<number, number>
  readonly killedNodes: Map<number, number>
  readonly cuts: Cut[]
  /** The number of the node that had this pid. */
  readonly nodeNumbers: Map<number, number>
  /** Failures that concern no single job. */
  readonly errors: string[]
}

export const newRecord = (): SoakRecord => ({
  publications: new Map(),
  killedWorkers: new Map(),
  killedNodes: new Map(),
  cuts: [],
  nodeNumbers: new Map(),
  errors: [],
})
