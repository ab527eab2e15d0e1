/**
 * The opcodes of plain content, each of one byte, and their operands. Numbers are little-endian, lengths count UTF-16 units.
 *
 * The keys of a shape are sent once in a message: SHAPE has its definition, and later objects refer to its number. Objects are
 * numbered, too, in the order of their opcodes: an object that appears again is a BACK_REFERENCE.
 */

/** The integers 0 to 127 are their own opcodes. */
export const MAX_SMALL_INTEGER = 0x7f
/** 0x80 to 0xbf: a text of up to 63 units, one byte each. */
export const TEXT = 0x80
export const MAX_SHORT_TEXT = 63
/** 0xc0 to 0xcf: an object of one of the first shapes, then its values. */
export const RECORD = 0xc0
/** 0xd0 to 0xdf: an array of up to 15 elements. */
export const ARRAY = 0xd0
export const MAX_INLINE_COUNT = 15

export const UNDEFINED = 0xe0
export const NULL = 0xe1
export const FALSE = 0xe2
export const TRUE = 0xe3
/** i16. */
export const INT16 = 0xe4
/** i32. */
export const INT32 = 0xe5
/** f64. */
export const DOUBLE = 0xe6
/** u32 length, then one byte for each unit. */
export const LONG_TEXT = 0xe7
/** u32 length, then two bytes for each unit: any text, also with halves of surrogate pairs. */
export const WIDE_TEXT = 0xe8
/** u32 elements. */
export const LONG_ARRAY = 0xe9
/** u16 bytes of the definition | u8 number of keys | for each: its text. Then the values of an object of this shape. */
export const SHAPE = 0xea
/** u16 number of the shape, then the values. */
export const LONG_RECORD = 0xeb
/** u32 entries, for each the text of its key and the value: objects that share their keys with few others. */
export const DICTIONARY = 0xec
/** f64 milliseconds. */
export const DATE = 0xed
/** u32 number of an object. */
export const BACK_REFERENCE = 0xee
/** u32 entries, for each its key and its value. */
export const MAP = 0xef
/** u32 items. */
export const SET = 0xf0
/** u8 1 if it is negative, then the text of its magnitude, in hexadecimal digits. */
export const BIGINT = 0xf1
/** u8 kind | u32 number of the blob | u32 offset in it | u32 elements: a view on one of the binaries, or an ArrayBuffer. See reference.ts. */
export const BINARY = 0xf2

/** Deeper values are left to node:v8. */
export const MAX_DEPTH = 400
/** Objects with more keys are dictionaries. */
export const MAX_KEYS = 64
/** Objects with a longer key are dictionaries. */
export const MAX_KEY_LENGTH = 200
