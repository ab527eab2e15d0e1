/** What one proof has found. */
export interface ProofReport {
  readonly figures: Readonly<Record<string, unknown>>
  /** Broken promises, a line each. */
  readonly problems: readonly string[]
}

/** Values by rank: `share` 0.95 is the one that 95 of 100 do not exceed. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN
