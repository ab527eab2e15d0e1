import type { NodeStats, TaskStatus } from '../../runtime/report/report.js'

/** Of the sixteen that every terminal has. `undefined`: as text is. */
export type Colour = 'green' | 'yellow' | 'red' | 'cyan' | 'gray' | undefined

export const STATUS_COLOURS: Readonly<Record<TaskStatus, Colour>> = {
  pending: 'gray',
  running: 'cyan',
  success: 'green',
  failure: 'red',
  soft_timeout: 'yellow',
  hard_timeout: 'red',
  revoked: 'yellow',
  lost: 'red',
  retried: 'yellow',
}

export const STATE_COLOURS: Readonly<Record<NodeStats['state'], Colour>> = {
  starting: 'yellow',
  running: 'green',
  quiet: 'yellow',
  paused: 'yellow',
  draining: 'yellow',
  stopped: 'red',
}

/** A word of another version, or of whoever else reports, has none. */
export const colourOf = <Word extends string>(colours: Readonly<Record<Word, Colour>>, word: Word): Colour =>
  Object.hasOwn(colours, word) ? colours[word] : undefined

/** ms without a turn from which on a worker counts as stuck. */
export const STUCK = 5_000
