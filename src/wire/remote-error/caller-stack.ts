/** The worker's stack followed by the caller's: where it broke, and who asked. */
import { fileURLToPath } from 'node:url'

/** This package's own code: bundled, or (source maps on) as it was written. */
const ownFolders = ((): string[] => {
  const here = import.meta.url
  const end = Math.max(here.lastIndexOf('/dist/'), here.lastIndexOf('/src/'))
  if (end < 0) return []
  const base = here.slice(0, end)
  return ['/dist/', '/src/'].flatMap((folder) => [base + folder, fileURLToPath(base + folder)])
})()

const isFrame = (line: string): boolean => /^\s+at /.test(line)
const isOwn = (line: string): boolean => ownFolders.some((folder) => line.includes(folder))
const isInternal = (line: string): boolean => line.includes('node:internal/')

const done = new WeakSet<object>()

/** Without this package's own frames, nor what of Node's called them: neither tells the reader anything. */
const tidy = (stack: string): string => {
  const lines = stack.split('\n')
  const firstOwn = lines.findIndex((line) => isFrame(line) && isOwn(line))
  if (firstOwn < 0) return stack
  return lines.filter((line, index) => !isFrame(line) || !(isOwn(line) || (index > firstOwn && isInternal(line)))).join('\n')
}

/** The same for the errors within: causes and the errors of an AggregateError. Each once, so that a circle ends. */
const tidyInner = (error: object): void => {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown }
  // By its values: an array may be four thousand million holes long.
  for (const inner of [cause, ...(Array.isArray(errors) ? (Object.values(errors) as unknown[]) : [])]) {
    if (!(inner instanceof Error) || done.has(inner)) continue
    done.add(inner)
    const { stack } = inner
    if (typeof stack === 'string' && !Object.isFrozen(inner))
      Object.defineProperty(inner, 'stack', { value: tidy(stack), enumerable: false, configurable: true, writable: true })
    tidyInner(inner)
  }
}

/** Adds the frames of `callerFrames` (a `stack` captured in the host) that lie outside of this package. A second call changes nothing. */
export const appendCallerStack = (error: unknown, callerFrames: string): void => {
  if (typeof error !== 'object' || error === null || done.has(error)) return
  const frames = callerFrames.split('\n').filter((line) => isFrame(line) && !isOwn(line))
  try {
    const { stack } = error as { stack?: unknown }
    if (typeof stack !== 'string') return
    // Frames of Node alone tell nothing.
    const caller = frames.every(isInternal) ? [] : frames
    const tidied = tidy(stack)
    const kept = caller.length > 0 || tidied.split('\n').some(isFrame) ? tidied : stack
    tidyInner(error)
    Object.defineProperty(error, 'stack', { value: [kept, ...caller].join('\n'), enumerable: false, configurable: true, writable: true })
    done.add(error)
  } catch {
    // Frozen: it stays as it is.
  }
}
