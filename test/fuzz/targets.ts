/** The doors through which bytes come in, each called as the pool or the worker calls it. What they may do with junk: throw one of our own errors. */
import { lifelineDecoder, resultsDecoder, type WorkerMessageHandler } from '../../src/pool/worker/message-decoder.js'
import { decode } from '../../src/wire/codec/index.js'
import { PreforkError } from '../../src/wire/errors.js'
import { FIXED_BYTES } from '../../src/wire/frame.js'
import { frameReader } from '../../src/wire/frame-reader.js'
import { appendCallerStack, decodeError } from '../../src/wire/remote-error/index.js'
import { FrameParser } from '../../src/worker/io/frame-parser.js'
import { WorkerJob } from '../../src/worker/jobs/job.js'
import { strangersIn } from './check-value.js'
import type { Target } from './corpus.js'

/** Frames of that size at the most: `maxMessageSize` of the fuzz. */
export const MAX_BODY = 4096

const shared = new Set<unknown>([globalThis, process, Object, Array, Object.prototype, Array.prototype, Function.prototype, Error.prototype, Map.prototype])

/** Anything else than our own error is a mistake of ours. */
const own = (what: string, read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof PreforkError) return undefined
    throw new Error(`${what} threw what is no PreforkError: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

export const readValue = (bytes: Buffer): void => {
  const before = Buffer.from(bytes)
  const value = own('decode', () => decode(bytes, 0))
  const strangers = strangersIn(value, shared)
  if (strangers.length > 0) throw new Error(`a decoded value holds ${strangers.join(', ')}`)
  if (!before.equals(bytes)) throw new Error('the bytes were changed')
  const error = own('decodeError', () => decodeError(bytes, 0))
  appendCallerStack(error, '    at caller (file:///caller.js:1:1)')
}

/** Does with each message what the pool does: reads the value that it carries. */
const listener = (heard: string[]): WorkerMessageHandler => {
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      heard.push(`${name} ${args.map((arg) => (Buffer.isBuffer(arg) ? arg.toString('hex') : typeof arg)).join()}`)
      for (const arg of args) if (Buffer.isBuffer(arg)) own(name, () => (arg.length === 0 ? undefined : decode(arg, 0)))
    }
  const names = ['hello', 'up', 'startFailed', 'accepted', 'answered', 'item', 'progressed', 'log', 'fault', 'bye'] as const
  const more = ['heartbeat', 'recalled', 'stackReceived', 'limit', 'broken'] as const
  return Object.fromEntries([...names, ...more].map((name) => [name, note(name)])) as unknown as WorkerMessageHandler
}

/** The pieces that `cuts` make of the bytes. */
const piecesOf = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((start, index) => Buffer.from(bytes.subarray(start, places[index] ?? bytes.length)))
}

/** Feeds the pieces until the reader refuses one; what it heard before, and whether it refused. */
const feed = (what: string, pieces: readonly Buffer[], push: (piece: Buffer) => void): string => {
  for (const piece of pieces) {
    let refused = true
    own(what, () => {
      push(piece)
      refused = false
    })
    if (refused) return 'refused'
  }
  return 'taken'
}

const same = (what: string, whole: unknown, cut: unknown): void => {
  if (JSON.stringify(whole) !== JSON.stringify(cut)) throw new Error(`${what}: cut bytes were read otherwise\n${JSON.stringify(whole)}\n${JSON.stringify(cut)}`)
}

const hostSide =
  (inbox: typeof resultsDecoder) =>
  (bytes: Buffer, cuts: readonly number[]): void => {
    const run = (pieces: readonly Buffer[]): unknown => {
      const heard: string[] = []
      const reader = frameReader(inbox(listener(heard)), MAX_BODY)
      reader.next()
      return [feed('the frame reader', pieces, (piece) => void reader.next(piece)), heard]
    }
    same('the host', run([bytes]), run(piecesOf(bytes, cuts)))
  }

const workerSide = (bytes: Buffer, cuts: readonly number[]): void => {
  const run = (pieces: readonly Buffer[]): unknown => {
    const heard: unknown[] = []
    const parser = new FrameParser(MAX_BODY, (frame, start, end) => {
      heard.push(frame.toString('hex', start, end))
      if (frame[start + 4] !== 1 || end - start < FIXED_BYTES) return
      const job = new WorkerJob(frame, start, end)
      // Whatever they throw is that job's own error.
      for (const read of [() => job.args(), () => job.id('pool'), () => job.context]) {
        try {
          read()
        } catch (error) {
          if (!(error instanceof Error)) throw error
        }
      }
    })
    return [feed('the frame parser', pieces, (piece) => parser.push(piece)), heard]
  }
  same('the worker', run([bytes]), run(piecesOf(bytes, cuts)))
}

export const doors: Record<Target, (bytes: Buffer, cuts: readonly number[]) => void> = {
  values: readValue,
  results: hostSide(resultsDecoder),
  lifeline: hostSide(lifelineDecoder),
  jobs: workerSide,
}
