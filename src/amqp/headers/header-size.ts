/**
 * All headers of a message share 64 KiB: the client library encodes no more. One whose headers do not fit could be neither tried again
 * nor buried, and would hold its place on the node for good.
 */

type Table = Readonly<Record<string, unknown>>

/** Bytes, with something to spare. */
const ROOM = 65_000
/** Names the headers that had to go. */
export const DROPPED_HEADER = 'dropped_headers'
const MAX_NAMES = 500

/** Headers that say how the job is to be treated: they are small, and stay. */
const needed = new Set(
  'schema_version soft_timeout_s hard_timeout_s attempt max_attempts losses retry_lost requeues delay expires_at dead_reason dead_at dead_node dead_queue dead_error_name dead_error_message dead_error_code'.split(
    ' ',
  ),
)

/** Bytes of a value in a table of AMQP's: never fewer than it takes. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return 5 + Buffer.byteLength(value)
  if (Buffer.isBuffer(value)) return 5 + value.length
  if (Array.isArray(value)) return (value as unknown[]).reduce((sum: number, each) => sum + sizeOf(each), 5)
  if (typeof value === 'object' && value !== null) return tableSize(value as Table)
  return 9
}

const tableSize = (table: Table): number => Object.entries(table).reduce((sum, [key, value]) => sum + 1 + Buffer.byteLength(key) + sizeOf(value), 5)

/** A needed header that somebody else has blown up is not as small as it should be. */
const removable = ([key, value]: [string, unknown]): boolean => !needed.has(key) || sizeOf(value) > 8_192

/** The headers, without what there is no room for: the error's stack, then the oldest lines of history, then the largest of the others. */
export const withinRoom = <T extends Table>(headers: T): T => {
  let size = tableSize(headers)
  if (size <= ROOM) return headers
  const kept: Record<string, unknown> = { ...headers }
  const dropped: string[] = []
  const drop = (key: string): void => {
    size -= 1 + Buffer.byteLength(key) + sizeOf(kept[key])
    delete kept[key]
    dropped.push(key)
  }
  // Room for the names of what goes.
  size += 20 + 4 * MAX_NAMES
  if (kept.dead_error_stack !== undefined) drop('dead_error_stack')
  while (size > ROOM && Array.isArray(kept.history) && kept.history.length > 1) {
    const [oldest, ...newer] = kept.history as unknown[]
    size -= sizeOf(oldest)
    kept.history = newer
  }
  const bySize = Object.entries(kept)
    .filter(removable)
    .sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))
  for (const [key] of bySize) {
    if (size <= ROOM) break
    drop(key)
  }
  if (dropped.length > 0) kept[DROPPED_HEADER] = dropped.join(' ').slice(0, MAX_NAMES)
  return kept as T
}
