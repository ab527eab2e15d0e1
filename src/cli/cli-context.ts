import { setImmediate as nextTurn } from 'node:timers/promises'
import { CommandError, EXIT, type ExitCode } from './exit.js'
import type { Farm } from './farm.js'
import type { BrokerSettings } from './settings/broker.js'
import type { Environment } from './settings/setting.js'

export interface TextStream {
  isTTY?: boolean
  write(text: string): unknown
  /** Writes with everything else that is given in the same turn of the event loop, at its end. Absent: only `write`. */
  writeSoon?(text: string): unknown
  /** Writes at once what `writeSoon` was given. */
  flush?(): void
}

/** A stream whose `write` never throws: what cannot be written is dropped. */
export interface OutputStream extends TextStream {
  /** The first error of a write. */
  readonly failure?: Error | undefined
  /** Calls `listener` once, with the first error of a write; at once where there was one. */
  onFailure?(listener: (error: Error) => void): void
}

/** The environment of a command: the process's own, or a test's. */
export interface CliContext {
  readonly env: Environment
  readonly folder: string
  readonly version: string
  readonly stdin: { readonly isTTY?: boolean }
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Emits the signals. */
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>
  /** The farm behind an address. Its library is loaded only by a command that needs it. */
  farm(broker: BrokerSettings): Promise<Farm>
}

/** The exit code of a command, once it is known whether its output was written. A reader that has exited, as `head` does, is no failure. */
export const afterOutput = async (code: ExitCode, { stdout }: CliContext): Promise<ExitCode> => {
  // Streams report an error after the write.
  await nextTurn()
  const { failure } = stdout
  if (failure === undefined || (failure as NodeJS.ErrnoException).code === 'EPIPE') return code
  throw new CommandError(`The output cannot be written: ${failure.message}`, code === EXIT.ok ? EXIT.failed : code, { cause: failure })
}
