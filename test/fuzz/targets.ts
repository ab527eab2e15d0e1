/** The readers of received bytes, called as the pool or the worker calls them. With invalid bytes they may throw a PreforkError and nothing else. */
import { type Reply, ReplyParser, ReplySyntaxError } from '../../src/faktory/protocol/reply-parser.js'
import { CallFunctions, JobCalls } from '../../src/pool/jobs/calls.js'
import { lifelineDecoder, resultsDecoder, type WorkerMessageHandler } from '../../src/pool/worker/message-decoder.js'
import { decode } from '../../src/wire/codec/index.js'
import { PreforkError } from '../../src/wire/errors.js'
import { FIXED_BYTES } from '../../src/wire/frame.js'
import { frameReader } from '../../src/wire/frame-reader.js'
import { Kind } from '../../src/wire/messages.js'
import { appendCallerStack, decodeError } from '../../src/wire/remote-error/index.js'
import { FrameParser } from '../../src/worker/io/frame-parser.js'
import { WorkerJob } from '../../src/worker/jobs/job.js'
import { foreignPartsOf } from './check-value.js'
import type { Target } from './corpus.js'

/** The largest frame: `maxMessageSize` of the fuzz. */
export const MAX_BODY = 4096

const shared = new Set<unknown>([globalThis, process, Object, Array, Object.prototype, Array.prototype, Function.prototype, Error.prototype, Map.prototype])

/** Runs `read`; throws if it throws anything but a PreforkError. */
const allowPreforkError = (what: string, read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof PreforkError) return undefined
    throw new Error(`${what} threw something other than a PreforkError: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

export const readValue = (bytes: Buffer): void => {
  const before = Buffer.from(bytes)
  const value = allowPreforkError('decode', () => decode(bytes, 0))
  const foreign = foreignPartsOf(value, shared)
  if (foreign.length > 0) throw new Error(`a decoded value holds ${foreign.join(', ')}`)
  if (!before.equals(bytes)) throw new Error('the bytes were changed')
  const error = allowPreforkError('decodeError', () => decodeError(bytes, 0))
  appendCallerStack(error, '    at caller (file:///caller.js:1:1)')
}

const NO_CALLS = new CallFunctions('calls', {})

/** Decodes the value of each message, as the pool does. */
const listener = (received: string[]): WorkerMessageHandler => {
  const record =
    (name: string) =>
    (...args: unknown[]): void => {
      received.push(`${name} ${args.map((arg) => (Buffer.isBuffer(arg) ? arg.toString('hex') : typeof arg)).join()}`)
      for (const arg of args) if (Buffer.isBuffer(arg)) allowPreforkError(name, () => (arg.length === 0 ? undefined : decode(arg, 0)))
    }
  const handler: { [Name in keyof WorkerMessageHandler]: (...args: unknown[]) => void } = {
    hello: record('hello'),
    up: record('up'),
    startFailed: record('startFailed'),
    accepted: record('accepted'),
    answered: record('answered'),
    sent: (delivery, kind, payload) => {
      record('sent')(delivery, kind, payload)
      if (kind === Kind.CALL) allowPreforkError('a call', () => new JobCalls(NO_CALLS).receive('job', 1, payload as Buffer, { add: () => {} }))
    },
    log: record('log'),
    fault: record('fault'),
    bye: record('bye'),
    heartbeat: record('heartbeat'),
    recalled: record('recalled'),
    requestAnswered: record('requestAnswered'),
    limit: record('limit'),
    broken: record('broken'),
  }
  return handler
}

/** Cuts the bytes at the given offsets. */
const piecesOf = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const offsets = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...offsets].map((start, index) => Buffer.from(bytes.subarray(start, offsets[index] ?? bytes.length)))
}

/** Feeds the pieces until the reader refuses one. */
const feed = (what: string, pieces: readonly Buffer[], push: (piece: Buffer) => void): string => {
  for (const piece of pieces) {
    let refused = true
    allowPreforkError(what, () => {
      push(piece)
      refused = false
    })
    if (refused) return 'refused'
  }
  return 'accepted'
}

const same = (what: string, whole: unknown, cut: unknown): void => {
  if (JSON.stringify(whole) !== JSON.stringify(cut))
    throw new Error(`${what}: cut bytes were read differently\n${JSON.stringify(whole)}\n${JSON.stringify(cut)}`)
}

const hostSide =
  (decoder: typeof resultsDecoder) =>
  (bytes: Buffer, cuts: readonly number[]): void => {
    const run = (pieces: readonly Buffer[]): unknown => {
      const received: string[] = []
      const reader = frameReader(decoder(listener(received)), MAX_BODY)
      reader.next()
      return [feed('the frame reader', pieces, (piece) => void reader.next(piece)), received]
    }
    same('the host', run([bytes]), run(piecesOf(bytes, cuts)))
  }

const workerSide = (bytes: Buffer, cuts: readonly number[]): void => {
  const run = (pieces: readonly Buffer[]): unknown => {
    const received: unknown[] = []
    const parser = new FrameParser(MAX_BODY, (frame, start, end) => {
      received.push(frame.toString('hex', start, end))
      if (frame[start + 4] !== 1 || end - start < FIXED_BYTES) return
      const job = new WorkerJob(frame, start, end)
      // An error here fails that job alone.
      for (const read of [() => job.args(), () => job.id('pool'), () => job.context]) {
        try {
          read()
        } catch (error) {
          if (!(error instanceof Error)) throw error
        }
      }
    })
    return [feed('the frame parser', pieces, (piece) => parser.push(piece)), received]
  }
  same('the worker', run([bytes]), run(piecesOf(bytes, cuts)))
}

/** Answers of a Faktory server. What is no answer is refused. */
const faktorySide = (bytes: Buffer, cuts: readonly number[]): void => {
  const run = (pieces: readonly Buffer[]): unknown => {
    const received: Reply[] = []
    const parser = new ReplyParser(MAX_BODY)
    const push = (piece: Buffer): void => {
      try {
        parser.push(piece, (reply) => received.push(reply))
      } catch (error) {
        throw error instanceof ReplySyntaxError ? new PreforkError('ERR_REFUSED', error.message) : error
      }
    }
    return [feed('the reply parser', pieces, push), received]
  }
  same('the faktory client', run([bytes]), run(piecesOf(bytes, cuts)))
}

export const readers: Record<Target, (bytes: Buffer, cuts: readonly number[]) => void> = {
  values: readValue,
  results: hostSide(resultsDecoder),
  lifeline: hostSide(lifelineDecoder),
  jobs: workerSide,
  faktory: faktorySide,
}
