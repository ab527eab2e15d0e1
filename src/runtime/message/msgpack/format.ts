/** The words of MessagePack, and the bounds within which both ends of this codec keep. */

export const NIL = 0xc0
export const FALSE = 0xc2
export const TRUE = 0xc3
export const BIN_8 = 0xc4
export const EXT_8 = 0xc7
export const FLOAT_32 = 0xca
export const FLOAT_64 = 0xcb
export const UINT_8 = 0xcc
export const UINT_16 = 0xcd
export const UINT_32 = 0xce
export const UINT_64 = 0xcf
export const INT_8 = 0xd0
export const INT_16 = 0xd1
export const INT_32 = 0xd2
export const INT_64 = 0xd3
export const FIXEXT_1 = 0xd4
export const FIXEXT_4 = 0xd6
export const FIXEXT_8 = 0xd7
export const STR_8 = 0xd9
export const STR_16 = 0xda
export const STR_32 = 0xdb
export const ARRAY_16 = 0xdc
export const ARRAY_32 = 0xdd
export const MAP_16 = 0xde
export const MAP_32 = 0xdf

/** The one extension that MessagePack itself defines: a point in time. */
export const TIMESTAMP = -1

/** Arrays and maps within one another: enough for data, little enough for any stack. */
export const MAX_DEPTH = 256

/** Values in one message. A body of 64 MiB could hold 64 million empty maps, and each costs 56 bytes of heap for its one. */
export const MAX_VALUES = 5_000_000
