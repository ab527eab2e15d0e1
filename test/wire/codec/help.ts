import { decode, type EncodeOptions, encode } from '../../../src/wire/codec/index.js'

const RESERVE = 20

/** The bytes that a worker would receive. */
export const wire = (value: unknown, options?: EncodeOptions): Buffer => {
  const { body, binaries, size } = encode(value, RESERVE, options)
  const bytes = Buffer.concat([body, ...binaries])
  if (bytes.length !== RESERVE + size) throw new Error(`size is ${size}, but there are ${bytes.length - RESERVE} bytes`)
  return bytes
}

/** The value that a worker would receive. */
export const sent = <T>(value: T, options?: EncodeOptions): T => decode(wire(value, options), RESERVE) as T

export const refusal = (value: unknown, options?: EncodeOptions): Error => {
  try {
    sent(value, options)
  } catch (error) {
    return error as Error
  }
  throw new Error('it was not refused')
}
