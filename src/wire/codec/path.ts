/** The place of a part of a value, as a JavaScript expression. */

/** A step from a container to what it holds. Numbers are indices of an array, strings are keys, `Entry` the rest. */
export type Step = string | number | Entry

/** A step through a Map or a Set. */
export class Entry {
  constructor(readonly text: string) {}
}

const identifier = /^[A-Za-z_$][\w$]*$/

/** `args[0].options["my key"].callback` */
export const pathText = (root: string, steps: readonly Step[]): string => {
  let text = root
  // A path may have a million steps.
  const shown = steps.length > 40 ? steps.slice(0, 40) : steps
  for (const step of shown) {
    if (step instanceof Entry) text += step.text
    else if (typeof step === 'number') text += `[${step}]`
    else text += identifier.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  }
  return shown === steps ? text : `${text} …`
}

const className = (value: object): string => {
  try {
    const tag = Object.prototype.toString.call(value).slice(8, -1)
    // `Array Iterator`, for example, says more than the name of its class.
    if (tag.includes(' ')) return tag
    const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name
    if (typeof name === 'string' && name !== '' && name !== 'Object') return name
    return tag
  } catch {
    return 'object'
  }
}

/** `a function`, `a symbol`, `a Promise` … */
export const describe = (value: unknown): string => {
  if (typeof value === 'function') return /^class\b/.test(Function.prototype.toString.call(value)) ? 'a class' : 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  if (typeof value !== 'object' || value === null) return String(value)
  const name = className(value)
  return `${/^[AEIOU]/i.test(name) ? 'an' : 'a'} ${name}`
}
