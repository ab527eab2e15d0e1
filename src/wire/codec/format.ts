/**
 * The layout of an encoded value.
 *
 * value = format u8 | content
 *
 * A constant has no content. Otherwise the content is plain data in opcodes of this package, or node:v8's bytes. With FLAG_BLOBS a
 * table of the value's binaries stands in front of it:
 *
 * u32 bytes of the content | u32 number of blobs | for each: u32 length, u32 limit, u8 flags
 * content | small blobs, in order | up to 7 zeroes | (end of the body) | large blobs, in order
 *
 * Numbers are little-endian.
 */

/** `undefined`, `null`, `false`, `true` and `[]` take one byte and no walk. Nearly every job has `[]` for its arguments or `undefined` for its result. */
export const CONST_UNDEFINED = 0
export const CONST_NULL = 1
export const CONST_FALSE = 2
export const CONST_TRUE = 3
export const CONST_EMPTY_ARRAY = 4

/** Content in opcodes of this package: see plain/. */
export const PLAIN = 32
/** Added to PLAIN: an object appears more than once. */
export const FLAG_BACK_REFERENCES = 4
/** Content by node:v8. */
export const BY_V8 = 16
/** Added to either: a table of binaries stands in front of the content. */
export const FLAG_BLOBS = 1
/** Added to BY_V8: the content is `[value, records of errors]`. */
export const FLAG_ERRORS = 2

export const BLOB_TABLE_HEAD = 8
export const BLOB_ENTRY = 9

/** Binaries of at least this many bytes are not copied into the body: one more buffer in a gathered write costs less than copying them twice. */
export const LARGE = 8192

/** The first large blob begins at a multiple of this in its frame, so that any typed array can be laid over it where it stays in the bytes that were received. */
export const ALIGNMENT = 8

/** The blob follows the body. */
export const BLOB_LARGE = 1
/** Only Buffers are views of it: its bytes may stay where they were received. Otherwise it gets an ArrayBuffer of its own. */
export const BLOB_BUFFER = 2
/** A resizable ArrayBuffer; `limit` is its maxByteLength. */
export const BLOB_RESIZABLE = 4
