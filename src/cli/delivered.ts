import { setImmediate as turn } from 'node:timers/promises'
import type { CliContext } from './cli-context.js'
import { CommandError, EXIT, type ExitCode } from './exit.js'

/**
 * The exit code of a command that is through, once it is known whether its output could be written. A reader that has gone, as `head`
 * does, has what it wanted.
 */
export const delivered = async (code: ExitCode, { stdout }: Pick<CliContext, 'stdout'>): Promise<ExitCode> => {
  // Streams tell of a failure after the write.
  await turn()
  const { failure } = stdout
  if (failure === undefined || (failure as NodeJS.ErrnoException).code === 'EPIPE') return code
  throw new CommandError(`The output cannot be written: ${failure.message}`, code === EXIT.ok ? EXIT.failed : code, { cause: failure })
}
