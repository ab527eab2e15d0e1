import { readFileSync } from 'node:fs'
import { controlSecret, readQueueName } from '../../amqp/options/client-options.js'
import { shortText } from '../../amqp/publishing/publish-options.js'
import { nodeName } from '../../node/options.js'
import { rateText } from '../../runtime/options.js'
import { type Check, type ChoiceCheck, type CountCheck, millisecondsOrZero } from '../../util/checks.js'
import { LIMITS, MAX_TIMER } from '../../util/limits.js'
import type { OptionSpec } from '../../util/option-table.js'

/** Reads the text of a flag, an argument or a variable. */
export interface Reader<T> {
  /** Completes "must be …". */
  readonly wants: string
  /** Returns undefined for a text that it cannot use. */
  read(text: string): T | undefined
  /** The refusal does not show the text. */
  readonly secret?: boolean
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof UNITS

export const count = (min: number, max = Number.MAX_SAFE_INTEGER): Reader<number> => ({
  wants: max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
  read(text) {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  },
})

/** A time as it is typed, in the largest unit that fits. */
const timeText = (ms: number): string => {
  if (ms >= UNITS.d) return `${Math.floor(ms / UNITS.d)} days`
  const unit = (['h', 'm', 's', 'ms'] as const).find((each) => ms >= UNITS[each])!
  return `${Math.floor(ms / UNITS[unit])}${unit}`
}

/** A time, in ms. A number without a unit is seconds. */
export const duration = ({ zero = false, max = MAX_TIMER }: { zero?: boolean; max?: number } = {}): Reader<number> => ({
  wants: `a time ${zero ? 'of at least 0' : 'above 0'}, in seconds or with a unit (15, 1.5, 500ms, 5s, 2m, 1h, 1d), at most ${timeText(max)}`,
  read(text) {
    const match = /^(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h|d)?$/.exec(text)
    if (match === null) return undefined
    const value = Math.ceil(Number(match[1]) * UNITS[(match[2] ?? 's') as Unit])
    return value <= max && (zero || value > 0) ? value : undefined
  },
})

/** Strings and numbers of a JSON text, one after another. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The first integer of a JSON text that JavaScript would read as another number. */
export const alteredInteger = (json: string): string | undefined =>
  json.match(TOKENS)?.find((each) => {
    const read = Number(each)
    return /^-?\d+$/.test(each) && !Number.isSafeInteger(read) && (!Number.isFinite(read) || BigInt(read) !== BigInt(each))
  })

const MULTIPLES = { '': 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 } as const

/** A size, in bytes. */
export const size: Reader<number> = {
  wants: 'a size in bytes above 0, or with a unit (300MB, 1.5GB, 512MiB)',
  read(text) {
    const match = /^(\d+(?:\.\d+)?)([kmg]i?b)?$/i.exec(text)
    if (match === null) return undefined
    const value = Math.ceil(Number(match[1]) * MULTIPLES[(match[2] ?? '').toLowerCase() as keyof typeof MULTIPLES])
    return value > 0 && Number.isSafeInteger(value) ? value : undefined
  },
}

export const sizeOrNone: Reader<number> = { wants: `${size.wants}, or 0 for none`, read: (text) => (text === '0' ? 0 : size.read(text)) }

const textThat = (fits: (text: string) => boolean, wants: string): Reader<string> => ({ wants, read: (text) => (fits(text) ? text : undefined) })

export const name = (what: string): Reader<string> => textThat((text) => /^\S{1,255}$/.test(text), `${what} of 1 to 255 characters without white space`)

const hasNoSpace = (text: string): boolean => /^\S+$/.test(text)

/** Whether the library's own check of the option passes it. */
export const passes =
  (check: Check<string>) =>
  (text: string): boolean => {
    try {
      check('', text)
      return true
    } catch {
      return false
    }
  }

/** A property of a message. White space is refused here alone: it is most likely a mistake in quoting. */
export const shortTextWith = (what: string): Reader<string> =>
  textThat((text) => hasNoSpace(text) && passes(shortText)(text), `${what} of 1 to 255 bytes of UTF-8 without white space`)

/** Several texts, separated by commas; each once. */
const listOf = (wants: string, fits: (text: string) => boolean): Reader<string[]> => ({
  wants: `${wants}, several with commas between`,
  read(text) {
    const all = text.split(',').map((each) => each.trim())
    return all.every(fits) ? [...new Set(all)] : undefined
  },
})

export const nodeNameText = textThat(passes(nodeName), 'the name of a node, of letters, digits and . _ @ : - (at most 200)')

export const nodeNames: Reader<string[]> = listOf(nodeNameText.wants, passes(nodeName))

const isBrokerName = (text: string): boolean => hasNoSpace(text) && passes(readQueueName)(text)

/** The name of a queue or an exchange. White space is refused here alone, as above. */
export const brokerName = (what: string): Reader<string> =>
  textThat(isBrokerName, `${what} of 1 to 200 bytes without white space, which does not begin with 'amq.'`)

export const brokerNames = (what: string): Reader<string[]> => listOf(brokerName(what).wants, isBrokerName)

export const oneOf = <T extends string>(...allowed: readonly T[]): Reader<T> => ({
  wants: allowed.map((each) => `'${each}'`).join(' or '),
  read: (text) => allowed.find((each) => each === text),
})

export const range: Reader<{ min: number; max: number }> = {
  wants: `two whole numbers from 1 to ${LIMITS.workers}, least and most, such as 1,10`,
  read(text) {
    const match = /^(\d+),(\d+)$/.exec(text.replaceAll(' ', ''))
    if (match === null) return undefined
    const [min, max] = [Number(match[1]), Number(match[2])]
    return min >= 1 && max >= min && max <= LIMITS.workers ? { min, max } : undefined
  },
}

/** The contents of a file. */
export const contents: Reader<Buffer> = {
  wants: 'the path of a file that can be read',
  read(text) {
    try {
      return readFileSync(text)
    } catch {
      return undefined
    }
  },
}

export const port: Reader<number> = count(0, 65_535)

export const secretText: Reader<string> = {
  secret: true,
  wants: 'a text of at least 8 characters, without the white space around it',
  read: (text) => (passes(controlSecret)(text) ? text : undefined),
}

/** `10/s`, `600/m`, `1000/h`; `none` removes the limit. */
export const rate: Reader<string | null> = {
  wants: "a rate such as 10/s, 600/m or 1000/h, or 'none' to remove the limit",
  read: (text) => (text === 'none' ? null : passes(rateText)(text) ? text : undefined),
}

/** The reader for an option of the library, with the bounds of the library's check. */
export const readerOf = ({ unit, check }: OptionSpec): Reader<unknown> => {
  if (unit === 'ms') return duration({ zero: check === millisecondsOrZero })
  if (unit === 'bytes') return size
  if ('allowed' in check) return oneOf(...(check as ChoiceCheck<string>).allowed)
  const { min, max } = check as CountCheck
  return count(min, max)
}
