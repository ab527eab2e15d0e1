import { readOptions, type Settings } from '../../src/pool/options.js'
import type { PoolOptions } from '../../src/pool/types.js'

export const TASKS = new URL('file:///srv/tasks.js')

/** The settings that these options come to. */
export const read = (options: Partial<PoolOptions> = {}): Settings => readOptions({ tasks: TASKS, ...options })

/** The message with which a call is refused. */
export const refusal = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof TypeError) return error.message
    throw error
  }
  throw new Error('It was not refused.')
}

export const refused = (options: Record<string, unknown>): string => refusal(() => readOptions({ tasks: TASKS, ...options }))
