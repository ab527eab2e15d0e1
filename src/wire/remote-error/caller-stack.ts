/** Joins the stack of an error of one process with the stack of its caller in another. */
import { fileURLToPath } from 'node:url'
import { distAround } from '../../util/own-files.js'

/** The folders of this package's own code, found when the first error comes: the bundle, or (with source maps) the source. In a bundle of the application it cannot be told from the rest. */
const findOwnFolders = (): string[] => {
  const base = (distAround()?.href ?? /^.*\/src\/(?=wire\/remote-error\/)/.exec(import.meta.url ?? '')?.[0])?.replace(/\/(dist|src)\/$/, '')
  if (base === undefined) return []
  return ['/dist/', '/src/'].flatMap((folder) => [base + folder, fileURLToPath(base + folder)])
}

let ownFolders: readonly string[] | undefined

const isFrame = (line: string): boolean => /^\s+at /.test(line)
const isOwn = (line: string): boolean => {
  ownFolders ??= findOwnFolders()
  return ownFolders.some((folder) => line.includes(folder))
}
const isInternal = (line: string): boolean => line.includes('node:internal/') || line.includes('(node:async_hooks:')

const done = new WeakSet<object>()

/** Without the frames of this package and of Node's code that called them. */
const tidy = (stack: string): string => {
  const lines = stack.split('\n')
  const firstOwn = lines.findIndex((line) => isFrame(line) && isOwn(line))
  if (firstOwn < 0) return stack
  return lines.filter((line, index) => !isFrame(line) || !(isOwn(line) || (index > firstOwn && isInternal(line)))).join('\n')
}

/** The same for the errors inside: causes and the errors of an AggregateError. Each once, so that a circle ends. */
const tidyInner = (error: object): void => {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown }
  // By its values: an array may have four thousand million holes.
  for (const inner of [cause, ...(Array.isArray(errors) ? (Object.values(errors) as unknown[]) : [])]) {
    if (!(inner instanceof Error) || done.has(inner)) continue
    done.add(inner)
    const { stack } = inner
    if (typeof stack === 'string' && !Object.isFrozen(inner))
      Object.defineProperty(inner, 'stack', { value: tidy(stack), enumerable: false, configurable: true, writable: true })
    tidyInner(inner)
  }
}

/** Appends the frames of `callerFrames` (a `stack` captured in the host) that are not this package's. A second call changes nothing. */
export const appendCallerStack = (error: unknown, callerFrames: string): void => {
  if (typeof error !== 'object' || error === null || done.has(error)) return
  const frames = callerFrames.split('\n').filter((line) => isFrame(line) && !isOwn(line))
  try {
    const { stack } = error as { stack?: unknown }
    if (typeof stack !== 'string') return
    // A stack of Node's frames alone is left out.
    const caller = frames.every(isInternal) ? [] : frames
    const tidied = tidy(stack)
    const kept = caller.length > 0 || tidied.split('\n').some(isFrame) ? tidied : stack
    tidyInner(error)
    Object.defineProperty(error, 'stack', { value: [kept, ...caller].join('\n'), enumerable: false, configurable: true, writable: true })
    done.add(error)
  } catch {
    // A frozen error stays as it is.
  }
}

/** The error as its caller gets it: the frames of the other process (or none), then those of the caller, which awaits this. */
export const withCallerStack = (error: unknown): unknown => {
  if (error instanceof Error) {
    const frames = framesHere()
    if (frames !== undefined) appendCallerStack(error, frames)
  }
  return error
}

/** Undefined where this process's own `Error.prepareStackTrace` returns no text, or throws: then the caller's frames are left out. */
const framesHere = (): string | undefined => {
  try {
    const stack: unknown = new Error().stack
    return typeof stack === 'string' ? stack : undefined
  } catch {
    return undefined
  }
}
