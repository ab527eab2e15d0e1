/** The argument of FAIL. The server cuts its fields by bytes, and leaves half a character: they are cut here first. */
import type { SerializedError } from '../../runtime/delivery.js'
import type { FaktoryJob } from './job.js'

/** Bytes that the server keeps. */
const MAX_TYPE = 100
const MAX_MESSAGE = 1_000
/** Lines and bytes of a line of a backtrace. The server keeps 50 lines. */
const MAX_LINES = 30
const MAX_LINE = 1_000

/** The types of errors that are the pool's, by their codes. */
const TYPES: Readonly<Record<string, string>> = {
  ERR_PREFORK_WORKER_LOST: 'WorkerLost',
  ERR_PREFORK_LOST_TOO_OFTEN: 'WorkerLost',
  ERR_PREFORK_TIME_LIMIT: 'TimeLimit',
  ERR_PREFORK_SOFT_TIME_LIMIT: 'SoftTimeLimit',
  ERR_PREFORK_MEMORY_LIMIT: 'MemoryLimit',
  ERR_PREFORK_NODE_SHUTDOWN: 'NodeShutdown',
}

/** The longest beginning of a text that takes at most `max` bytes in UTF-8 and ends with a whole character. */
export const cutToBytes = (text: string, max: number): string => {
  // Three bytes for each UTF-16 unit, at most.
  if (text.length * 3 <= max) return text
  const bytes = Buffer.from(text.slice(0, max + 1), 'utf8')
  if (bytes.length <= max) return text
  let end = max
  // A byte 10xxxxxx continues a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** The lines of a stack that name places, without the message above them. */
const placesIn = (stack: string | undefined): string[] => (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))

/** `error` as the server stores it with the job. `lost`: how runs ended with their worker before that one. */
export const failureOf = (
  { jid, backtrace }: Pick<FaktoryJob, 'jid' | 'backtrace'>,
  { name, message, stack, code }: SerializedError,
  lost: readonly string[] = [],
): string => {
  const type = (code === undefined ? undefined : TYPES[code]) ?? (name === '' ? 'Error' : name)
  const lines = Math.min(MAX_LINES, Math.max(0, backtrace))
  const places = lines === 0 ? [] : placesIn(stack).slice(0, lines)
  return JSON.stringify({
    jid,
    errtype: cutToBytes(type, MAX_TYPE),
    message: cutToBytes(lost.length === 0 ? message : `${message} (Runs before it: ${lost.join('; ')}.)`, MAX_MESSAGE),
    backtrace: places.map((line) => cutToBytes(line.trim(), MAX_LINE)),
  })
}
