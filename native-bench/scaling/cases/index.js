/** The cases, in the order of the report. */
import { computing } from './computing.js'
import { noop, waiting } from './drain.js'
import { fair } from './fair.js'
import { spread } from './spread.js'

/** @type {Record<string, import('../types.js').ScalingCase>} */
export const CASES = { spread, noop, waiting, fair, computing }
