import type { NodeStats, TaskStatus } from '../../runtime/report/report.js'

/** `12 ms`, `3.4 s`, `2m 05s`, `1h 02m`, `3d 04h`. */
export const shownTime = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = ms / 1_000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  const two = (value: number): string => String(value).padStart(2, '0')
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h ${two(Math.floor((whole % 3_600) / 60))}m`
  return `${Math.floor(whole / 86_400)}d ${two(Math.floor((whole % 86_400) / 3_600))}h`
}

/** Whole megabytes (10^6 bytes), as process lists show them. */
export const shownBytes = (bytes: number): string => (bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`)

export const shownCount = (count: number): string => Math.round(count).toLocaleString('en-US')

/** `9.5/s`, `1,200/s`. */
export const shownRate = (perSecond: number): string => `${perSecond < 10 && perSecond > 0 ? perSecond.toFixed(1) : shownCount(perSecond)}/s`

/** `12.5 %`, of a share from 0 to 1. */
export const shownShare = (share: number): string => `${(share * 100).toFixed(1)} %`

/** `14:03:59`, local time. */
export const shownClock = (time: number): string => {
  const at = new Date(time)
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((each) => String(each).padStart(2, '0')).join(':')
}

/** The clock time of today, the day and the minute of another day: `14:03:59`, `11-24 14:03`. Local time. */
export const shownWhen = (time: number, now: number): string => {
  const at = new Date(time)
  if (at.toDateString() === new Date(now).toDateString()) return shownClock(time)
  const [month, day] = [at.getMonth() + 1, at.getDate()].map((each) => String(each).padStart(2, '0'))
  return `${month}-${day} ${shownClock(time).slice(0, 5)}`
}

const BARS = '▁▂▃▄▅▆▇█'

/** The last `width` values as bars; the highest is a full bar, 0 the lowest. */
export const sparkline = (values: readonly number[], width: number): string => {
  const shown = values.slice(-width)
  const highest = Math.max(0, ...shown)
  return shown.map((value) => BARS[highest === 0 ? 0 : Math.min(BARS.length - 1, Math.ceil((value / highest) * (BARS.length - 1)))]).join('')
}

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
