/** The tasks of the queue's benchmarks. */

export const noop = () => {}

/** When it began, µs on the monotonic clock, which all processes of a machine share. */
export const startedAt = () => Number(process.hrtime.bigint()) / 1_000
