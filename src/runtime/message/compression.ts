/** Compression of bodies, as `content_encoding` names it. */
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { PreforkError } from '../../wire/errors.js'
import { UndecodableError } from '../errors.js'

export type Compression = 'gzip' | 'br' | 'zstd'

type Transform = (body: Buffer, options?: { maxOutputLength?: number }) => Promise<Buffer>

/** Node has zstd since 22.15 and 23.8. */
const withZstd = zlib as unknown as { zstdCompress?: Parameters<typeof promisify>[0]; zstdDecompress?: Parameters<typeof promisify>[0] }
const optional = (f: Parameters<typeof promisify>[0] | undefined): Transform | undefined => (f === undefined ? undefined : (promisify(f) as Transform))

/** Brotli's default quality of 11 is for files that are compressed once. It takes 50 times as long. */
const BROTLI_QUALITY = 5
const brotli = promisify(zlib.brotliCompress) as (body: Buffer, options: zlib.BrotliOptions) => Promise<Buffer>

const compressors: Record<Compression, Transform | undefined> = {
  gzip: promisify(zlib.gzip) as Transform,
  br: (body) => brotli(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  zstd: optional(withZstd.zstdCompress),
}
const decompressors: Record<Compression, Transform | undefined> = {
  gzip: promisify(zlib.gunzip) as Transform,
  br: promisify(zlib.brotliDecompress) as Transform,
  zstd: optional(withZstd.zstdDecompress),
}

const NO_ZSTD = `zstd is not in the zlib of Node ${process.versions.node}: it came with Node 22.15`

/** Encodings that mean "not compressed". Python's Kombu writes `utf-8` for JSON and `binary` for MessagePack. */
const identities = new Set(['', 'identity', 'utf-8', 'utf8', 'binary'])

/** Compresses off the main thread. Rejects with PreforkError `ERR_PREFORK_COMPRESSION` when this Node has no zstd. */
export const compress = async (body: Buffer, how: Compression): Promise<Buffer> => {
  const compressor = compressors[how]
  if (compressor === undefined) throw new PreforkError('ERR_PREFORK_COMPRESSION', `A message cannot be compressed: ${NO_ZSTD}. Use 'gzip' or 'br'.`)
  return compressor(body)
}

/** The compression that a `content_encoding` names; undefined for none. Throws UndecodableError for an unknown one. */
export const compressionNamed = (encoding: string | undefined): Compression | undefined => {
  if (encoding === undefined) return undefined
  if (!isCompressed(encoding)) return undefined
  const name = encoding.trim().toLowerCase()
  if (name === 'x-gzip') return 'gzip'
  if (name === 'gzip' || name === 'br' || name === 'zstd') return name
  throw new UndecodableError(`The content encoding '${encoding}' is not known; known are gzip, br and zstd.`)
}

/** Whether a `content_encoding` is, or may be, that of a compressed body. */
export const isCompressed = (encoding: string | undefined): boolean => encoding !== undefined && !identities.has(encoding.trim().toLowerCase())

/** Decompresses off the main thread. Rejects with UndecodableError as soon as the output is larger than `maxSize` bytes. */
export const decompress = async (body: Buffer, how: Compression, maxSize: number): Promise<Buffer> => {
  const decompressor = decompressors[how]
  if (decompressor === undefined) throw new UndecodableError(`The body cannot be decompressed: ${NO_ZSTD}.`)
  try {
    return await decompressor(body, { maxOutputLength: maxSize })
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge('once decompressed is larger', maxSize)
    throw new UndecodableError(`The body is not ${how}: ${cause instanceof Error ? cause.message : String(cause)}.`, { cause })
  }
}

export const tooLarge = (what: string, maxSize: number): UndecodableError =>
  new UndecodableError(`The body ${what} than the ${maxSize} bytes that this node takes (maxBodySize).`)
