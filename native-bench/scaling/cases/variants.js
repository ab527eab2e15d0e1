/** @import { ScalingVariant } from '../types.js' */

/** One of each broker. @type {Record<string, ScalingVariant>} */
export const EACH_BROKER = {
  quorum: { title: 'RabbitMQ, quorum queue', broker: 'quorum', smoke: true },
  file: { title: 'queue in a file', broker: 'file', smoke: true },
  faktory: { title: 'Faktory', broker: 'faktory', smoke: true },
}

/** The same for a case whose smoke does without Faktory: the end of a node waits for its FETCH, up to 2 s. @type {Record<string, ScalingVariant>} */
export const EACH_BROKER_BRIEFLY = { ...EACH_BROKER, faktory: { title: 'Faktory', broker: 'faktory' } }
