import type { Command as Program } from 'commander'
import type { CliContext } from './cli-context.js'
import type { ExitCode } from './exit.js'
import type { Flags } from './settings/setting.js'

/** What a command does, and its exit code. */
export type Run = (context: CliContext) => Promise<ExitCode>

/** How the program makes commands. */
export interface CommandMaker {
  /** A command with the flags of a broker and its queues. */
  command(parent: Program, name: string, help: string): Program
  run(run: Run): void
}

/** The commands of `prefork queue`, and their flags. */
export const addQueueCommands = (queue: Program, { command, run }: CommandMaker): void => {
  const load = () => import('./commands/queue-jobs.js')
  command(queue, 'counts', 'how many jobs there are in each state').action((flags: Flags) => run(async (context) => (await load()).counts(flags, context)))
  command(queue, 'list', 'show jobs, the oldest first')
    .option('--state <states>', 'only jobs in these states, separated by commas')
    .option('--task <name>', 'only jobs of this task')
    .option('--limit <count>', 'to show at most; default 100')
    .option('--after <seq>', 'only jobs after the one with this seq: the next page')
    .action((flags: Flags) => run(async (context) => (await load()).list(flags, context)))
  command(queue, 'show', 'show a job with its arguments, progress, error and history')
    .argument('<id>', 'its id')
    .action((id: string, flags: Flags) => run(async (context) => (await load()).show(id, flags, context)))
  for (const [name, help] of [
    ['pause', 'let no node begin a job'],
    ['resume', 'let nodes begin jobs again'],
  ] as const)
    command(queue, name, help).action((flags: Flags) => run(async (context) => (await load()).setPaused(name === 'pause', flags, context)))
  for (const [name, help] of [
    ['cancel', 'cancel jobs; what runs is ended'],
    ['retry', 'let jobs that failed, expired or were cancelled run again'],
    ['remove', 'remove jobs that do not run'],
  ] as const) {
    const each = command(queue, name, help)
      .argument('[ids...]', 'their ids')
      .option('--state <states>', 'all in these states, separated by commas')
      .option('--task <name>', 'all of this task')
      .option('--all', 'all of them')
    if (name === 'remove') each.option('--yes', 'with --all: it cannot be undone')
    each.action((ids: string[], flags: Flags) => run(async (context) => (await load()).change(name, ids, flags, context)))
  }
  command(queue, 'schedule', 'show the schedules, store one, or remove one')
    .argument('[key]', 'its key')
    .argument('[task]', 'the name of its task')
    .argument('[args]', 'the arguments, as a JSON array')
    .option('--cron <pattern>', "such as '0 9 * * 1-5'")
    .option('--every <time>', 'between two ticks')
    .option('--time-zone <name>', 'of the pattern, such as Europe/Berlin')
    .option('--catch-up <which>', 'missed ticks that run: one (the default), none or all')
    .option('--remove', 'remove it')
    .action((key: string | undefined, task: string | undefined, args: string | undefined, flags: Flags) =>
      run(async (context) => (await load()).schedule([key, task, args], flags, context)),
    )
}
