import { startBare } from './bare.js'
import { startCommandLine, startScaling } from './cli.js'
import { startPeer } from './peer.js'
import { startWorker } from './worker.js'

/** @import { FaktoryVariant } from '../types.js' */

/** In the order of the table. @type {Record<string, FaktoryVariant>} */
export const VARIANTS = {
  bare: { title: 'FETCH and ACK by hand', start: startBare },
  worker: { title: 'createWorker, 2 workers', start: startWorker },
  cli: { title: 'prefork work --workers 2', start: startCommandLine },
  scaling: { title: 'prefork work, up to 10 workers', start: startScaling },
  'faktory-worker': { title: 'faktory-worker, 20 at once', peer: true, start: startPeer },
}
