import { OptionError, refusal } from '../../util/checks.js'
import { nextTick, type Timing } from './ticks.js'

/** The fields of a pattern, as messages name them. */
const FIELDS = ['minute', 'hour', 'day of the month', 'month', 'day of the week']

const FORM = `five fields (${FIELDS.join(', ')}), or six with the second first`

const isReadable = (cron: string): boolean => {
  try {
    nextTick({ cron }, 0)
    return true
  } catch {
    return false
  }
}

/** The first field that cannot be read, each on its own. Undefined: it is not a field alone. */
const wrongField = (fields: readonly string[]): string | undefined => {
  const names = fields.length === FIELDS.length ? FIELDS : ['second', ...FIELDS]
  const at = fields.findIndex((field, index) => !isReadable(fields.map((_, other) => (other === index ? field : '*')).join(' ')))
  return at === -1 ? undefined : `the ${names[at]} '${fields[at]}' cannot be read`
}

const checkPattern = (name: string, cron: string): void => {
  const fields = cron.trim().split(/\s+/)
  // '@hourly' is one word.
  const isNickname = fields.length === 1 && isReadable(cron)
  if (!isNickname && fields.length !== FIELDS.length && fields.length !== FIELDS.length + 1) throw refusal(name, FORM, cron)
  if (!isReadable(cron)) throw refusal(name, `${FORM}; ${wrongField(fields) ?? 'these cannot be read together'}`, cron)
}

const checkTimeZone = (name: string, timeZone: string): void => {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch (cause) {
    throw new OptionError(name, `must be a time zone, such as 'Europe/Berlin'; there is none named '${timeZone}'`, { cause })
  }
}

/** Throws TypeError, in words of its own, for a pattern or a time zone that cannot be read, and for a pattern that no time fits. */
export const checkTiming = (timing: Timing): void => {
  const { cron, timeZone } = timing
  if (cron === undefined) return
  checkPattern('cron', cron)
  if (timeZone !== undefined) checkTimeZone('timeZone', timeZone)
  if (nextTick(timing, Date.now()) === undefined) throw new OptionError('cron', `has no tick to come: '${cron}'`)
}
