/** The cases, in the order of the report. */
import { backlog } from './backlog.js'
import { drain } from './drain.js'
import { idle } from './idle.js'
import { latency } from './latency.js'

/** @type {Record<string, import('../types.js').QueueCase>} */
export const CASES = { drain, latency, idle, backlog }
