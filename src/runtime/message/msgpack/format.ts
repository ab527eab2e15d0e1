/** The types of MessagePack values that the code here names, and the bounds of one message in both directions. */

export const NIL = 0xc0
export const UNUSED = 0xc1
export const BIN_8 = 0xc4
export const EXT_8 = 0xc7
export const FLOAT_32 = 0xca
export const FLOAT_64 = 0xcb
export const UINT_8 = 0xcc
export const UINT_64 = 0xcf
export const FIXEXT_1 = 0xd4
export const STR_8 = 0xd9
export const ARRAY_16 = 0xdc
export const MAP_16 = 0xde

/** The one extension that MessagePack itself defines: a point in time. */
export const TIMESTAMP = -1

/** Extensions that `unpack` puts before a value which msgpackr alone would alter. A message that holds one is refused. */
export const MARK = {
  /** 2^53 or -2^53 in 64 bits: would become a number. */
  BIG_INT: 1,
  /** Text of more than 64 bytes that begins with U+FEFF: a TextDecoder reads it, which would drop that. */
  BYTE_ORDER_MARK: 2,
  /** The key `__proto__`, which would be renamed. */
  PROTO_KEY: 3,
  /** A map with such a key. */
  PROTO_MAP: 4,
} as const

/** Arrays and maps within one another: enough for data, little enough for any stack. */
export const MAX_DEPTH = 256

/** Values in one message. A body of 64 MiB could hold 64 million empty maps, and each costs 56 bytes of heap for its one. */
export const MAX_VALUES = 5_000_000
