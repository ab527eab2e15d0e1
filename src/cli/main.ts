import { CommanderError } from 'commander'
import { escapeControl } from '../util/shown-text.js'
import { afterOutput, type CliContext } from './cli-context.js'
import { EXIT, type ExitCode } from './exit.js'
import { explain } from './explain.js'
import { paintFor } from './output/output-stream.js'
import { createProgram, VARIABLES } from './program.js'
import { misspeltVariables } from './settings/setting.js'

/** Runs a command line. Resolves with the exit code; an error is one line that says what to do. */
export const main = async (typed: readonly string[], context: CliContext): Promise<ExitCode> => {
  let run: ((context: CliContext) => Promise<ExitCode>) | undefined
  const program = createProgram(context, (chosen) => {
    run = chosen
  })
  const printLine = (line: string, colour: 'red' | 'yellow'): void => {
    context.stderr.write(`${paintFor(context.stderr, context.env)(colour, 'prefork:')} ${escapeControl(line)}\n`)
  }
  try {
    await program.parseAsync(typed, { from: 'user' }).catch(ignoreHelp)
    const names = VARIABLES.map(([name]) => name)
    if (run !== undefined) for (const line of misspeltVariables(context.env, names)) printLine(line, 'yellow')
    // Without a command to run, commander has printed the help or the version.
    return run === undefined ? await afterOutput(EXIT.ok, context) : await run(context)
  } catch (error) {
    const [line, code] = explain(error, typed)
    if (line !== undefined) printLine(line, 'red')
    const verbose = typed.includes('--verbose') || typed.includes('-v')
    if (verbose && error instanceof Error && !(error instanceof CommanderError)) context.stderr.write(`${escapeControl(error.stack ?? '')}\n`)
    return code
  }
}

/** commander also throws when it has printed the help or the version. */
const ignoreHelp = (error: unknown): void => {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
}
