import { type Encoded, encode } from '../../wire/codec/index.js'
import { SerializationError } from '../../wire/errors.js'
import { FRAME_HEAD } from '../../wire/frame.js'
import { type Fault, Kind } from '../../wire/messages.js'
import { bare } from '../../wire/remote-error/index.js'
import type { WorkerJob } from '../jobs/job.js'
import { type FrameOutput, NO_JOB } from './frame-output.js'

/** Never throws: an error thrown here would end the process. */
const encodeFault = (fault: Fault): Encoded => {
  try {
    return encode(fault, FRAME_HEAD, { replaceUnsendable: true })
  } catch {
    // Nested too deeply, for example.
    return encode({ ...fault, error: bare(fault.error) }, FRAME_HEAD, { replaceUnsendable: true })
  }
}

/** Reports errors that are part of no job's result; the worker goes on. */
export const faultReporter =
  (output: FrameOutput, maxMessageSize: number) =>
  (type: Fault['type'], error: unknown, job: WorkerJob | undefined): void => {
    const fault: Fault = job === undefined ? { type, error } : { type, error, delivery: job.delivery }
    let encoded = encodeFault(fault)
    if (encoded.size > maxMessageSize) encoded = encode({ ...fault, error: new SerializationError('An error that is over maxMessageSize') }, FRAME_HEAD)
    output.put(Kind.FAULT, 0, job ?? NO_JOB, encoded)
    output.flush()
  }

/** Keeps an uncaught error from ending the process, so that it costs no other job its result. */
export const catchFaults = (report: ReturnType<typeof faultReporter>, current: () => WorkerJob | undefined): void => {
  process.on('uncaughtException', (error) => report('uncaughtException', error, current()))
  process.on('unhandledRejection', (error) => report('unhandledRejection', error, current()))
}
