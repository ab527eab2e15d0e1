import type { NodeStats, TaskStatus } from '../../runtime/report/report.js'

/** Of the sixteen colours that every terminal has. Undefined: the default. */
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

/** Undefined for a word that this version does not know. */
export const colourOf = <Word extends string>(colours: Readonly<Record<Word, Colour>>, word: Word): Colour =>
  Object.hasOwn(colours, word) ? colours[word] : undefined

/** ms without a turn of the event loop after which a worker is shown as stuck. */
export const STUCK_AFTER = 5_000
