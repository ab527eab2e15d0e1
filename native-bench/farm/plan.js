/** Workers of the node. */
export const WORKERS = 2
/** Deliveries held, by the node as by the bare client. */
export const PREFETCH = 500
