import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { type Fault, FRAME_HEAD, Kind } from '../../wire/messages.js'
import { bare } from '../../wire/remote-error/index.js'
import type { WorkerJob } from '../jobs/job.js'
import type { Output } from './frame-output.js'

/** Never throws: it is called where an error would end the process. */
const encodeFault = (fault: Fault): Encoded => {
  try {
    return encode(fault, FRAME_HEAD, { lenient: true })
  } catch {
    // Nested too deeply, for one.
    return encode({ ...fault, error: bare(fault.error) }, FRAME_HEAD, { lenient: true })
  }
}

/** Sends errors that belong to no result; the worker lives on. */
export const faultReporter =
  (output: Output, maxMessageSize: number) =>
  (type: Fault['type'], error: unknown, job: WorkerJob | undefined): void => {
    const fault: Fault = job === undefined ? { type, error } : { type, error, delivery: job.delivery }
    let encoded = encodeFault(fault)
    if (encoded.size > maxMessageSize) encoded = encode({ ...fault, error: new SerializationError('An error that is over maxMessageSize') }, FRAME_HEAD)
    output.put(Kind.FAULT, 0, job ?? { attempt: 0, delivery: 0, number: 0 }, encoded)
    output.flush()
  }

/** Errors that nobody catches cost no other job its result. */
export const catchFaults = (report: ReturnType<typeof faultReporter>, current: () => WorkerJob | undefined): void => {
  process.on('uncaughtException', (error) => report('uncaughtException', error, current()))
  process.on('unhandledRejection', (error) => report('unhandledRejection', error, current()))
}
