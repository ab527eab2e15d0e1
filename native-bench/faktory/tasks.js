/** The tasks of the benchmark. */

export const noop = () => {}
