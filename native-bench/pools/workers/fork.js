import { tasks } from '../../tasks.js'

const known = /** @type {Record<string, (value: unknown) => unknown>} */ (tasks)

process.on('message', (/** @type {{ id: number, task: string, value: unknown }} */ { id, task, value }) => {
  try {
    process.send?.({ id, value: known[task]?.(value) })
  } catch (error) {
    process.send?.({ id, error: String(error) })
  }
})
