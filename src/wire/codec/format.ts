/**
 * The layout of an encoded value.
 *
 * value = format u8 | content
 *
 * A constant has no content. Otherwise the content is plain data in words of our own, or node:v8's bytes; with FLAG_BLOBS a table of the
 * value's binaries stands before it:
 *
 * u32 bytes of the content | u32 number of blobs | for each: u32 length, u32 limit, u8 flags
 * content | small blobs, in order | up to 7 zeroes | (end of the body) | large blobs, in order
 *
 * Numbers are little-endian.
 */

/** `undefined`, `null`, `false`, `true` and `[]`: one byte, no walk. Nearly every job has `[]` or `undefined` on one of its two ways. */
export const CONST_UNDEFINED = 0
export const CONST_NULL = 1
export const CONST_FALSE = 2
export const CONST_TRUE = 3
export const CONST_EMPTY_ARRAY = 4

/** Content in words of our own: see plain/. */
export const PLAIN = 32
/** Added to PLAIN: something appears twice. */
export const FLAG_SAME = 4
/** Content by node:v8. */
export const BY_V8 = 16
/** Added to either: a table of binaries stands before the content. */
export const FLAG_BLOBS = 1
/** Added to BY_V8: the content is `[value, records of errors]`. */
export const FLAG_ERRORS = 2

export const BLOB_TABLE_HEAD = 8
export const BLOB_ENTRY = 9

/** Binaries of at least this many bytes stand beside the body: one more buffer in a gathered write costs less than copying them twice. */
export const LARGE = 8192

/** The first large blob begins at a multiple of it in its frame: where it stays in the bytes that were received, any typed array may be laid over it. */
export const ALIGNMENT = 8

/** The blob lies beside the body. */
export const BLOB_LARGE = 1
/** Only Buffers look at it: its bytes may stay where they were received. Else it gets an ArrayBuffer of its own. */
export const BLOB_BUFFER = 2
/** A resizable ArrayBuffer; `limit` is its maxByteLength. */
export const BLOB_RESIZABLE = 4
