/** The classes that an error keeps across the process boundary. Their indices are sent: append only. */
import { ERROR_CLASSES } from '../errors.js'

const builtIn = Object.entries({ Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError })
const classes: readonly (readonly [string, new (...args: never[]) => Error])[] = [...builtIn, ...Object.entries(ERROR_CLASSES)]
const names = classes.map(([name]) => name)
const builtInNames = new Set(builtIn.map(([name]) => name))

/** The index of DOMException, which is made in another way. */
export const DOM_EXCEPTION = 255

/** True of a DOMException, also where (Node 20) it is no error of the engine's. */
export const isDOMException = (value: object): boolean => value instanceof DOMException

/** The index of the nearest class in the list, and the `name` that this class gives its errors. */
export const classOf = (error: object): { index: number; name: string } => {
  for (let p: object | null = Object.getPrototypeOf(error) as object | null; p !== null; p = Object.getPrototypeOf(p) as object | null) {
    const index = classes.findIndex(([, known]) => known.prototype === p)
    if (index >= 0) return { index, name: names[index]! }
    const name: unknown = Object.getOwnPropertyDescriptor(p, 'constructor')?.value?.name
    // The same class of another realm (node:vm, jest).
    if (typeof name === 'string' && builtInNames.has(name) && Object.getPrototypeOf(p) !== null && Object.hasOwn(p, 'message'))
      return { index: names.indexOf(name), name }
  }
  return { index: 0, name: 'Error' }
}

/** An error of that class without message and stack, which are set when the rest of the value has been read. */
export const emptyError = (index: number, text: readonly [string, string]): Error => {
  if (index === DOM_EXCEPTION) return new DOMException(text[0], text[1]) as unknown as Error
  const known = classes[index]
  if (known === undefined) throw new Error(`no class of errors has the number ${index}`)
  const limit = Error.stackTraceLimit
  // A stack of this place would be useless, and slow to make. With no limit there is none: a host's own Error.prepareStackTrace is
  // not called. Where Error is frozen (--frozen-intrinsics) the stack is made and dropped.
  const setLimit = (frames: number | undefined): boolean => Reflect.set(Error, 'stackTraceLimit', frames)
  setLimit(undefined)
  try {
    if (known[1] === AggregateError) return new AggregateError([])
    if (index < builtIn.length) return new (known[1] as new () => Error)()
    return Object.setPrototypeOf(new Error(), known[1].prototype as object) as Error
  } finally {
    setLimit(limit)
  }
}
