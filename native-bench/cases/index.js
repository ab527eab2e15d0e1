/** @import { Case } from '../types.js' */
import alone from './alone.js'
import buffers from './buffers.js'
import crash from './crash.js'
import farm from './farm.js'
import growth from './growth.js'
import idle from './idle.js'
import imported from './import.js'
import latency from './latency.js'
import mixed from './mixed.js'
import noop from './noop.js'
import objects from './objects.js'
import queued from './queued.js'
import recycle from './recycle.js'
import rtt from './rtt.js'
import start from './start.js'
import workers from './workers.js'

/** The cases in the order of the tables. @type {Record<string, Case>} */
export const CASES = Object.fromEntries(
  [noop, rtt, objects, buffers, mixed, start, imported, queued, latency, alone, growth, workers, recycle, crash, idle, farm].map((each) => [each.name, each]),
)
