/** Makes two answers comparable that differ in times, in generated values and in what a server counts about itself. */

const RULES: readonly (readonly [RegExp, string])[] = [
  [/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"'],
  [/"\d\d:\d\d:\d\d UTC"/g, '"<time>"'],
  [/"(uptime|used_memory_mb|cycles|enqueued|wall_time_sec)":[\d.e-]+/g, '"$1":<n>'],
  [/"i":\d+,"s":"[0-9a-f]+"/g, '"i":<n>,"s":"<salt>"'],
  [/("\w+"):\d+\.\d{3,}/g, '$1:<seconds>'],
]

/** The length of a bulk answer that holds a generated value follows its digits. Whether it fits its own text is checked where it is read. */
const LENGTH = /^\$\d+/

/** A retry that is due is enqueued within 5 s: whether INFO still sees it among the retries depends on the moment. */
const RETRY = /"(default|retries|size|total_enqueued)":\d+/g

export const withoutRetry = (answer: string): string => answer.replace(RETRY, '"$1":<n>')

export const normalise = (answer: string): string => {
  const text = RULES.reduce((each, [pattern, replacement]) => each.replace(pattern, replacement), answer)
  return text === answer ? text : text.replace(LENGTH, '$<length>')
}
