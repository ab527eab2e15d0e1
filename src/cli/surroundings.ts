import type { Farm } from './farm.js'
import type { Environment } from './settings/setting.js'

export interface Output {
  isTTY?: boolean
  columns?: number
  rows?: number
  write(text: string): unknown
}

/** What a command meets outside: the process's own, or a test's. */
export interface Surroundings {
  readonly env: Environment
  readonly folder: string
  readonly version: string
  readonly stdin: { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  /** Signals arrive here. */
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>
  /** Loaded only by a command that needs a broker. */
  farm(): Promise<Farm>
}
