import { StringDecoder } from 'node:string_decoder'

export type CapturedStream = 'stdout' | 'stderr'

/** Gives everything written to process.stdout and process.stderr, and so the console's output, to `write`. */
export const captureOutput = (write: (stream: CapturedStream, text: string) => void): void => {
  for (const stream of ['stdout', 'stderr'] as const) capture(stream, (text) => write(stream, text))
}

type Callback = (error?: Error | null) => void

const capture = (name: CapturedStream, onText: (text: string) => void): void => {
  const decoder = new StringDecoder('utf8')
  const write = (chunk: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback
    if (typeof chunk === 'string') onText(chunk)
    else if (chunk instanceof Uint8Array) onText(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
    else
      throw Object.assign(new TypeError('The "chunk" argument must be of type string or an instance of Buffer or Uint8Array'), { code: 'ERR_INVALID_ARG_TYPE' })
    if (done !== undefined) process.nextTick(done, null)
    return true
  }
  process[name].write = write as typeof process.stdout.write
}
