import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** A full collection, now. */
export const collectGarbage = runInNewContext('gc') as () => void

/** Bytes on the heap that are reachable. */
export const heldBytes = (): number => {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}
