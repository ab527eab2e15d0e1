/** Time limits, ms, 0 for none. */
export interface Limits {
  readonly softLimit: number
  readonly hardLimit: number
}

/** The longest limit that a frame carries, ms. */
const MAX_LIMIT = 0xffff_ffff

/**
 * The limits of an attempt that must have ended `left` ms from now, whatever its own limits allow: the worker is killed then, and the task is asked to
 * stop one `grace` earlier. Limits of its own that end before count. One attempt after another gets less, as the losses of a job share its deadline.
 */
export const limitsWithin = ({ softLimit, hardLimit }: Limits, left: number, grace: number): Limits => {
  const latest = Math.min(MAX_LIMIT, Math.max(1, Math.floor(left)))
  const hard = hardLimit > 0 ? Math.min(hardLimit, latest) : latest
  const ask = Math.max(1, latest - grace)
  const soft = softLimit > 0 ? Math.min(softLimit, ask) : ask
  // A soft limit above the hard one would never pass.
  return { softLimit: soft > hard ? 0 : soft, hardLimit: hard }
}
