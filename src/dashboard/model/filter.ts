/** What a line of a list says of itself, for a filter. */
export interface Filtered {
  readonly task: string
  readonly state: string
  readonly queue: string
  readonly node: string
  /** What words without a name are looked for in, besides the fields above. */
  readonly texts: readonly (string | undefined)[]
}

const FIELDS = ['task', 'state', 'queue', 'node'] as const
type Field = (typeof FIELDS)[number]

/** What people type for states that have another name. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  failed: ['failure', 'hard_timeout', 'soft_timeout', 'lost'],
  done: ['success'],
  succeeded: ['success'],
  timeout: ['hard_timeout', 'soft_timeout'],
  waiting: ['pending'],
}

/**
 * A filter as somebody types it: words, all of which must be found, whatever their case. `task:mail`, `state:failed`, `queue:q` and `node:web-1`
 * look in one field; `state:failed` finds every state of a failure; any other word is looked for everywhere.
 */
export const readFilter = (text: string): ((line: Filtered) => boolean) => {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(testOf)
  return (line) => tests.every((test) => test(line))
}

const testOf = (word: string): ((line: Filtered) => boolean) => {
  const field = FIELDS.find((name) => word.startsWith(`${name}:`))
  const wanted = field === undefined ? word : word.slice(field.length + 1)
  if (field === undefined) return (line) => [line.task, line.state, line.queue, line.node, ...line.texts].some((text) => includes(text, wanted))
  if (field === 'state' && Object.hasOwn(STATES, wanted)) return ({ state }) => STATES[wanted]!.includes(state) || state === wanted
  return (line) => includes(line[field as Field], wanted)
}

const includes = (text: string | undefined, wanted: string): boolean => text?.toLowerCase().includes(wanted) === true
