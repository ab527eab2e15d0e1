import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { nextTick } from '../../util/node-time.js'

/**
 * Gives everything written to process.stdout and process.stderr, and so the console's output, to `onText` at once. Node's
 * own streams are never opened: that would make the descriptors non-blocking for code that writes to them directly.
 */
export const captureOutput = (onText: (stream: 'stdout' | 'stderr', text: string) => void): void => {
  for (const [name, fd] of [
    ['stdout', 1],
    ['stderr', 2],
  ] as const) {
    const stream = capturing((text) => onText(name, text), fd)
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream })
  }
}

type Callback = (error?: Error | null) => void

const capturing = (onText: (text: string) => void, fd: number): Writable => {
  const decoder = new StringDecoder('utf8')
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: unknown, _encoding, done) => {
      take(chunk)
      done()
    },
  })
  const take = (chunk: unknown): void => {
    if (typeof chunk === 'string') onText(chunk)
    else if (chunk instanceof Uint8Array) onText(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
    else throw new TypeError(`Output is a string, a Buffer or a Uint8Array, not ${chunk === null ? 'null' : typeof chunk}`)
  }
  // Past the stream's own state: a task may be interrupted anywhere, and its output must not depend on a drain event.
  const write = (chunk: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean => {
    take(typeof chunk === 'string' && typeof encoding === 'string' ? Buffer.from(chunk, encoding) : chunk)
    const done = typeof encoding === 'function' ? encoding : callback
    if (done !== undefined) nextTick(done, null)
    return true
  }
  // As with Node's own streams, nothing ends or closes them.
  return Object.assign(stream, { write, fd, _isStdio: true, destroySoon: () => {}, _destroy: (_error: unknown, done: Callback) => done() })
}
