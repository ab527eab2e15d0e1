/**
 * A fast path for bodies that start like the body before. Nearly all bodies start with `{ task: '…', args:`, which is the same for each job
 * of a task: comparing these bytes is faster than decoding three strings.
 */
import * as word from './msgpack/format.js'
import { unpackBehind } from './msgpack/unpack.js'

/** A map of two. */
const MAP_OF_2 = 0x82
const FIXED_TEXT = 0xa0
const LONGEST_FIXED_TEXT = 31
const TASK = Buffer.from('\xa4task', 'latin1')
const ARGS = Buffer.from('\xa4args', 'latin1')

let head: Buffer = Buffer.alloc(0)
let task = ''

/** The job, if its body starts like the last one given to `rememberHead`. */
export const readSameHead = (body: Buffer): { task: string; args: unknown } | undefined => {
  const { length } = head
  if (length === 0 || body.length <= length) return undefined
  // A loop, because a call into Node costs more.
  for (let i = 0; i < length; i++) if (body[i] !== head[i]) return undefined
  return { task, args: unpackBehind(body, length) }
}

/** Remembers how a decoded body of this task starts. */
export const rememberHead = (body: Buffer, named: string): void => {
  const end = headOf(body)
  if (end === 0) return
  head = Buffer.from(body.subarray(0, end))
  task = named
}

/** The number of bytes before the arguments; 0 for a body of another form. */
const headOf = (body: Buffer): number => {
  let at = 1 + TASK.length
  if (body[0] !== MAP_OF_2 || !TASK.equals(body.subarray(1, at))) return 0
  const type = body[at]!
  if (type === word.STR_8) at += 2 + body[at + 1]!
  else if (type >= FIXED_TEXT && type <= FIXED_TEXT + LONGEST_FIXED_TEXT) at += 1 + type - FIXED_TEXT
  else return 0
  const end = at + ARGS.length
  return ARGS.equals(body.subarray(at, end)) ? end : 0
}
