// Figures as text, in the units of the terminal's dashboard.

const two = (value) => String(value).padStart(2, '0')

/** `12 ms`, `3.4 s`, `2m 05s`, `1h 02m`, `3d 04h`. */
export const time = (ms) => {
  if (ms === undefined || ms === null) return ''
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = ms / 1_000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h ${two(Math.floor((whole % 3_600) / 60))}m`
  return `${Math.floor(whole / 86_400)}d ${two(Math.floor((whole % 86_400) / 3_600))}h`
}

export const bytes = (value) => (value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${(value / 1e9).toFixed(1)} GB`)

export const count = (value) => Math.round(value).toLocaleString('en-US')

/** `9.5`, `1,200`. */
export const rate = (perSecond) => (perSecond < 10 && perSecond > 0 ? perSecond.toFixed(1) : count(perSecond))

export const clock = (at) => {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
}

/** With the day, where it is not today. */
export const moment = (at) => {
  if (at === undefined) return ''
  const date = new Date(at)
  const today = new Date().toDateString() === date.toDateString()
  return today ? clock(at) : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}`
}

export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? '' : 's'}`

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

/** Control characters, and what reorders a line, are shown by their number. */
export const visible = (text) => text.replace(HIDDEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
