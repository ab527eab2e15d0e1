/** What a job does: it computes, holds its thread without computing, or leaves it free. */
export type Kind = 'compute' | 'block' | 'await'

export interface JobSpec {
  /** When it is published, ms. */
  readonly at: number
  readonly task: string
  readonly queue: number
  readonly kind: Kind
  /** Of CPU time where it computes. */
  readonly ms: number
}

/** Times in ms; undefined: not yet. */
export interface Job extends JobSpec {
  readonly number: number
  /** In the node that holds it. */
  submittedAt: number
  beganAt: number | undefined
  endedAt: number | undefined
  /** Jobs that had been published before it and had not ended. */
  ahead: number
}
