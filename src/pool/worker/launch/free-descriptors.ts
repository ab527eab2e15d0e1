import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** That no descriptor was left for a worker's pipes. */
export const tooManyFiles = (cause: NodeJS.ErrnoException): Error =>
  new Error(`No worker process could be started: too many files are open in this process (${cause.code}; see ulimit -n).`, { cause })

/** Undefined: this process can open `count` more files. A descriptor that is sent to a process without a free one is lost, so it is asked for before. */
export const descriptorError = (count: number): Error | undefined => {
  const taken: number[] = []
  try {
    while (taken.length < count) taken.push(openSync(devNull, 'r'))
    return undefined
  } catch (error) {
    return tooManyFiles(error as NodeJS.ErrnoException)
  } finally {
    for (const fd of taken) closeSync(fd)
  }
}
