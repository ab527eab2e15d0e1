/** All headers of a message share 64 KiB: amqplib encodes no more. With larger ones a job could be neither retried nor dead-lettered. */

type Table = Readonly<Record<string, unknown>>

/** Limit for the bytes of all headers. Leaves a reserve. */
const MAX_HEADER_BYTES = 65_000
/** The header with the names of the removed headers. */
const DROPPED_HEADER = 'dropped_headers'
const MAX_DROPPED_NAMES = 500

/** Headers that control the execution of the job: they are small, and stay. */
const CONTROL_HEADERS = new Set([
  ...['schema_version', 'soft_timeout_s', 'hard_timeout_s', 'attempt', 'max_attempts', 'losses', 'retry_lost', 'requeues'],
  ...['returns', 'unknown_for', 'delay', 'expires_at'],
  ...['dead_reason', 'dead_at', 'dead_node', 'dead_queue', 'dead_error_name', 'dead_error_message', 'dead_error_code'],
])

/** Upper bound of the bytes that a value takes in an AMQP table. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return 5 + Buffer.byteLength(value)
  if (Buffer.isBuffer(value)) return 5 + value.length
  if (Array.isArray(value)) return (value as unknown[]).reduce((sum: number, each) => sum + sizeOf(each), 5)
  if (typeof value === 'object' && value !== null) return tableSize(value as Table)
  return 9
}

const tableSize = (table: Table): number => Object.entries(table).reduce((sum, [key, value]) => sum + 1 + Buffer.byteLength(key) + sizeOf(value), 5)

/** A control header that a foreign publisher made large is removed like any other header. */
const removable = ([key, value]: [string, unknown]): boolean => !CONTROL_HEADERS.has(key) || sizeOf(value) > 8_192

/** The headers within the limit. Removes the error's stack first, then the oldest entries of the history, then the largest other headers. */
export const fitHeaders = <T extends Table>(headers: T): T => {
  let size = tableSize(headers)
  if (size <= MAX_HEADER_BYTES) return headers
  const kept: Record<string, unknown> = { ...headers }
  const dropped: string[] = []
  const drop = (key: string): void => {
    size -= 1 + Buffer.byteLength(key) + sizeOf(kept[key])
    delete kept[key]
    dropped.push(key)
  }
  // Reserve room for `dropped_headers`.
  size += 20 + 4 * MAX_DROPPED_NAMES
  if (kept.dead_error_stack !== undefined) drop('dead_error_stack')
  while (size > MAX_HEADER_BYTES && Array.isArray(kept.history) && kept.history.length > 1) {
    const [oldest, ...newer] = kept.history as unknown[]
    size -= sizeOf(oldest)
    kept.history = newer
  }
  const bySize = Object.entries(kept)
    .filter(removable)
    .sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))
  for (const [key] of bySize) {
    if (size <= MAX_HEADER_BYTES) break
    drop(key)
  }
  if (dropped.length > 0) kept[DROPPED_HEADER] = dropped.join(' ').slice(0, MAX_DROPPED_NAMES)
  return kept as T
}
