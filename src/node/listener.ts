import type { FarmEvent } from '../runtime/report/report.js'

/** What hears events. A mistake in it is the application's own: it must be seen, as an uncaught exception, but cost nobody else anything. */
export const notify = (listener: (event: FarmEvent) => void, event: FarmEvent): void => {
  try {
    listener(event)
  } catch (error) {
    process.nextTick(() => {
      throw error
    })
  }
}
