import { CommanderError } from 'commander'
import { escapeControl } from '../util/escape.js'
import type { CliContext } from './cli-context.js'
import { delivered } from './delivered.js'
import { CommandError, EXIT, type ExitCode } from './exit.js'
import { paintFor } from './log/paint.js'
import { createProgram } from './program.js'
import { tlsRefusal } from './settings/broker.js'
import { inFlags } from './settings/in-flags.js'

/** Runs what was typed. Resolves with the exit code; an error is one line that says what to do. */
export const main = async (typed: readonly string[], around: CliContext): Promise<ExitCode> => {
  let run: ((around: CliContext) => Promise<ExitCode>) | undefined
  const program = createProgram(around, (chosen) => {
    run = chosen
  })
  try {
    await program.parseAsync(typed, { from: 'user' }).catch(helpIsWritten)
    // Nothing to run: what was asked for is the help, or the version.
    return run === undefined ? await delivered(EXIT.ok, around) : await run(around)
  } catch (error) {
    const [line, code] = explain(error, typed)
    if (line !== undefined) around.stderr.write(`${paintFor(around.stderr, around.env)('red', 'prefork:')} ${escapeControl(line)}\n`)
    // The stack is for whoever looks into it, not for whoever mistyped.
    if (wantsMore(typed) && error instanceof Error && !(error instanceof CommanderError)) around.stderr.write(`${escapeControl(error.stack ?? '')}\n`)
    return code
  }
}

/** commander throws also when it has printed what it was asked for. */
const helpIsWritten = (error: unknown): void => {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
}

const wantsMore = (typed: readonly string[]): boolean => typed.includes('--verbose') || typed.includes('-v')

const explain = (error: unknown, typed: readonly string[]): [line: string | undefined, code: ExitCode] => {
  if (error instanceof CommanderError) {
    // Without a command there is nothing to say but the help, which commander has printed.
    if (error.code === 'commander.help') return [undefined, EXIT.usage]
    // A command that there is not has no help either.
    const words = typed.filter((each) => /^[a-z_]+$/.test(each)).slice(0, typed[0] === 'control' || typed[0] === 'dlq' ? 2 : 1)
    if (error.code === 'commander.unknownCommand') words.pop()
    return [`${oneLine(error.message.replace(/^error: /, '').replace(/\.$/, ''))}. Try: ${['prefork', ...words, '--help'].join(' ')}`, EXIT.usage]
  }
  if (error instanceof CommandError) return [oneLine(error.message), error.exitCode]
  const ofTls = tlsRefusal(error)
  if (ofTls !== undefined) return [oneLine(ofTls), EXIT.usage]
  // By its code: the library is another bundle, with classes of its own.
  const { code } = (error ?? {}) as { code?: unknown }
  const exitCode = code === 'ERR_PREFORK_BROKER' || code === 'ERR_PREFORK_PUBLISH' ? EXIT.broker : EXIT.failed
  return [inFlags(oneLine(error instanceof Error ? error.message || error.name : String(error))), exitCode]
}

const oneLine = (text: string): string =>
  text
    .split(/\s*\n\s*/)
    .filter((each) => each !== '')
    .join(' ')
