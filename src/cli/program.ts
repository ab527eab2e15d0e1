import { Command as Program } from 'commander'
import type { Command } from '../runtime/report/commands.js'
import { afterOutput, type CliContext } from './cli-context.js'
import { CONTROL_COMMANDS, type CommandLine } from './commands/control-commands.js'
import { addQueueCommands, type Run } from './queue-program.js'
import { BROKER_VARIABLES } from './settings/broker.js'
import { FAKTORY_WORK_FLAGS } from './settings/faktory.js'
import { HTTP_VARIABLES } from './settings/http.js'
import { FAKTORY_PUBLISH_FLAGS } from './settings/publish.js'
import type { Flags } from './settings/setting.js'
import { DEFAULT_LOG_LEVEL, LOG_LEVELS, NODE_VARIABLES, nodeFlags } from './settings/work.js'

const EXIT_HELP = `
Exit codes:
  0  success; for work: all jobs in flight ended
  1  failed
  2  an invalid flag, argument or variable
  3  work: jobs were killed, or stay reserved at Faktory, when the grace was over or by a second signal
  4  the broker cannot be reached, or refused
  5  no answer in time
  6  publish --wait: the task failed; control: a node refused`

/** Variables with their defaults and meaning; docs/farm-cli.md has them in a table. */
export const VARIABLES = [...NODE_VARIABLES, ...BROKER_VARIABLES, ['ASYNC_FARM_LOG_LEVEL', DEFAULT_LOG_LEVEL, 'what is logged'] as const, ...HTTP_VARIABLES]

const WORK_HELP = `
Times are seconds, or have a unit: 15, 1.5, 500ms, 5s, 2m, 1h, 1d.

Variables (a flag overrides its variable; an empty variable counts as absent):
${VARIABLES.map(([name, fallback, help]) => `  ${name.padEnd(27)} ${help} (${fallback})`).join('\n')}

Signals:
  SIGTERM, SIGINT, SIGHUP  drain: no new jobs, those in flight have the grace; a second signal ends them now
  SIGTSTP                  quiet: no new jobs; SIGCONT resumes
  SIGTTIN                  log the stacks of all workers

Examples:
  prefork work --tasks ./tasks.js --workers 4
  prefork work --tasks ./tasks.js --autoscale 1,8 --http 9090
  prefork work --tasks ./tasks.js --broker tcp://:password@host:7419 --queue critical,5 --queue default,1`

const PUBLISH_HELP = `
Examples:
  prefork publish sendWelcomeEmail '[42]' --delay 5s
  prefork publish add '[1, 2]' --wait`

/** The commands and their flags. Values are checked where they are read, so that one check serves a flag and its variable. */
export const createProgram = (context: CliContext, onChosen: (run: Run) => void): Program => {
  const program = new Program('prefork')
  program
    .description('Jobs from RabbitMQ, Faktory or a queue in a file, in prefork worker processes: nodes, publishing, control, dead letters.')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXIT_HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      // `main` prints the error.
      outputError: () => {},
    })

  /** A command that fails when its output cannot be written. */
  const runChecked = (run: Run): void => onChosen(async (context) => await afterOutput(await run(context), context))
  const appendValue = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]
  const command = (parent: Program, name: string, help: string): Program => parent.command(name).description(help).helpOption('-h, --help', 'print this help')
  const withBroker = (each: Program): Program =>
    each
      .option('-b, --broker <url>', 'where RabbitMQ or Faktory is, or the file of a queue: sqlite:./jobs.db (RABBITMQ_URL, FAKTORY_URL)')
      .option('-v, --verbose', each.name() === 'work' ? '--log-level debug, and the stack of an error' : 'print the stack of an error')
  const withQueues = (each: Program): Program =>
    withBroker(each).option(
      '-q, --queue <names>',
      'queues, separated by commas; Faktory: or each with a weight, as in critical,5 (ASYNC_FARM_JOBS_QUEUE)',
      appendValue,
    )
  const withQueueDeclaration = (each: Program): Program =>
    withQueues(each)
      .option('--queue-type <type>', "RabbitMQ: how queues are declared: 'quorum' (the default) or 'classic'")
      .option('--priority-levels <count>', 'RabbitMQ: levels of priority of the queues; default 1: none')
  const withExchanges = (each: Program): Program =>
    each
      .option('--control-exchange <name>', 'RabbitMQ: commands to the nodes (ASYNC_FARM_CONTROL_EXCHANGE)')
      .option('--worker-exchange <name>', 'RabbitMQ: events of the nodes (ASYNC_FARM_WORKER_EXCHANGE)')
      .option('--control <path>', 'Faktory: the path of the control sockets of nodes (ASYNC_FARM_CONTROL_PATH)')

  const work = withExchanges(withQueueDeclaration(command(program, 'work', 'take jobs and run them')))
    .option('-t, --tasks <modules>', 'modules whose exported functions are the tasks', appendValue)
    .option('--root <folders>', 'folders below which module/path#export may name a task', appendValue)
    .option('--import <modules>', 'modules loaded in the node and, before any task, in each worker', appendValue)
    .option('-w, --workers <count>', 'a fixed number of workers')
    .option('--autoscale <min,max>', 'workers by the backlog (MIN_WORKERS, MAX_WORKERS)')
  for (const [usage, help] of [...nodeFlags(), ...FAKTORY_WORK_FLAGS]) work.option(usage, help)
  work
    .option('--log-level <level>', `${LOG_LEVELS.join(', ')}; default ${DEFAULT_LOG_LEVEL} (ASYNC_FARM_LOG_LEVEL)`)
    .option('--http <port>', 'serve a dashboard for browsers, /healthz, /readyz and /metrics')
    .option('--http-host <host>', 'where to serve them; default 127.0.0.1')
    .option('--tui', 'a dashboard in this terminal')
    .option('--no-arguments', 'reports and dashboards show no arguments of jobs')
    .addHelpText('after', WORK_HELP)
    .action((flags: Flags) => onChosen(async (context) => (await import('./commands/work.js')).work(flags, context)))

  const publish = withQueueDeclaration(command(program, 'publish', 'publish a job'))
    .argument('<task>', 'the name of the task')
    .argument('[args]', 'its arguments, as a JSON array')
    .option('--wait', 'wait for the result and print it')
    .option('--timeout <time>', 'time limit for the whole command; default 10s, with --wait 1m')
    .option('--delay <time>', 'before the job may begin')
    .option('--ttl <time>', 'after which it must not begin any more')
    .option('--priority <level>', 'higher first')
    .option('--soft-time-limit <time>', 'after which the job is asked to stop')
    .option('--time-limit <time>', 'after which the job is ended')
    .option('--max-attempts <count>', 'the first included')
    .option('--correlation-id <id>', 'travels with the job')
  for (const [usage, help] of FAKTORY_PUBLISH_FLAGS) publish.option(usage, help)
  publish
    .addHelpText('after', PUBLISH_HELP)
    .action((task: string, args: string | undefined, flags: Flags) =>
      runChecked(async (context) => (await import('./commands/publish.js')).publish(task, args, flags, context)),
    )

  withExchanges(withQueueDeclaration(command(program, 'top', 'a dashboard of the nodes, over the broker')))
    .option('--node <name>', 'the node to show first; default all of them')
    .option('--http <port>', 'the dashboard in a browser, in place of the terminal')
    .option('--http-host <host>', 'where to serve it; default 127.0.0.1')
    .option('--no-arguments', 'show no arguments of dead letters')
    .action((flags: Flags) => onChosen(async (context) => (await import('./commands/control.js')).top(flags, context)))

  const control = command(program, 'control', 'ask nodes, or control them')
  for (const [name, spec] of Object.entries(CONTROL_COMMANDS as Readonly<Record<string, CommandLine<Command>>>)) {
    const each = withExchanges(withBroker(command(control, name, spec.help)))
      .option('-n, --node <names>', 'the nodes, separated by commas', appendValue)
      .option('--all', 'all nodes')
      .option('--timeout <time>', 'time limit for the whole command; default: 10s for the answers of named nodes, 2s for those of all')
    if (spec.arguments !== undefined) each.argument(spec.arguments)
    for (const [flag, help] of spec.flags ?? []) each.option(flag, help)
    each.action((...typedArguments: unknown[]) => {
      const args = typedArguments.slice(0, -2).filter((arg): arg is string => typeof arg === 'string')
      const flags = typedArguments.at(-2) as Flags
      runChecked(async (context) => {
        const given = spec.read(args, flags)
        if (spec.run !== undefined) return await spec.run(given, flags, context)
        return await (await import('./commands/control.js')).control(given, flags, context)
      })
    })
  }

  withQueueDeclaration(command(program, 'purge', 'remove every job that waits in the queues'))
    .option('--dead', 'the dead letters instead')
    .option('--yes', 'confirm: the jobs are deleted for good')
    .action((flags: Flags) => runChecked(async (context) => (await import('./commands/queues.js')).purge(flags, context)))

  const dead = command(program, 'dlq', 'the dead letters: jobs that could not be done')
  withQueues(command(dead, 'list', 'show the dead letters; they stay where they are'))
    .option('--limit <count>', 'to show at most; default 100')
    .option('--no-arguments', 'without the arguments of the jobs')
    .option('--json', 'one JSON object per line (the default if stdout is not a terminal)')
    .action((flags: Flags) => runChecked(async (context) => (await import('./commands/queues.js')).listDead(flags, context)))
  withQueueDeclaration(command(dead, 'retry', 'send dead letters back to their queues'))
    .argument('[ids...]', 'their ids')
    .option('--all', 'all of them')
    .action((ids: string[], flags: Flags) => runChecked(async (context) => (await import('./commands/queues.js')).retryDead(ids, flags, context)))
  addQueueCommands(command(program, 'queue', 'a queue in a file: its jobs, settings and schedules'), {
    command: (parent, name, help) => withQueues(command(parent, name, help)),
    run: runChecked,
  })
  return program
}
