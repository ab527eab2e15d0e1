/** Workers of the node. */
export const WORKERS = 2
/** The prefetch of the node and of the bare client. */
export const PREFETCH = 500
