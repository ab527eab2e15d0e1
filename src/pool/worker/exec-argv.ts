import { OptionError } from '../../util/checks.js'

/** Checks the option `execArgv`: an argument with which no worker could start is refused by its name. */

/** With these Node does not run the script that it is given, or runs it in another process. */
const INSTEAD = new Set([
  '-',
  '-c',
  '-e',
  '-h',
  '-p',
  '-pe',
  '-v',
  '--check',
  '--completion-bash',
  '--eval',
  '--help',
  '--print',
  '--prof-process',
  '--test',
  '--v8-options',
  '--version',
  '--watch',
])

const nameOf = (arg: string): string => arg.split('=', 1)[0]!

/** An argument behind these is not their value. Which options take no value differs between versions of Node, and is not checked. */
const takesNothing = (arg: string | undefined): boolean => arg === undefined || arg === '--' || !arg.startsWith('-') || /^--[^=]+=/.test(arg)

/** Throws TypeError naming the first argument with which no worker would start. */
export const checkExecArgv = (name: string, args: readonly string[]): void => {
  for (const [index, arg] of args.entries()) {
    const before = args[index - 1]
    if (before === '--' || (!arg.startsWith('-') && takesNothing(before)))
      throw new OptionError(
        `${name}[${index}]`,
        `must be an option of Node's, or the value of the one before it; it was given '${arg}', which Node would run in place of the worker. Name modules with '--import' or '--require'`,
      )
    if (INSTEAD.has(nameOf(arg))) throw new OptionError(`${name}[${index}]`, `is '${arg}', with which no worker can start: leave it out`)
  }
}
