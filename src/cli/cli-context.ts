import type { Farm } from './farm.js'
import type { Environment } from './settings/setting.js'

export interface Output {
  isTTY?: boolean
  write(text: string): unknown
  /** Why something could not be written, the first time. Never thrown by `write`. */
  readonly failure?: Error | undefined
  /** Told once, at the first failure; at once where there was one. */
  onFailure?(told: (error: Error) => void): void
}

/** What a command meets outside: the process's own, or a test's. */
export interface CliContext {
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
