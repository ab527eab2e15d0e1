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

/** Adds the frames of `callerFrames` (a `stack` captured in the host) that lie outside of this package. A second call changes nothing. */
export const appendCallerStack = (error: unknown, callerFrames: string): void => {
  if (typeof error !== 'object' || error === null || done.has(error)) return
  const frames = callerFrames.split('\n').filter((line) => isFrame(line) && !isOwn(line))
  // Frames of Node alone tell nothing.
  if (frames.every(isInternal)) return
  try {
    const { stack } = error as { stack?: unknown }
    if (typeof stack !== 'string') return
    Object.defineProperty(error, 'stack', { value: `${stack}\n${frames.join('\n')}`, enumerable: false, configurable: true, writable: true })
    done.add(error)
  } catch {
    // Frozen: it stays as it is.
  }
}
