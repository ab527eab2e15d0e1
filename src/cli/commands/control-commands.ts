import type { Command, CommandName } from '../../runtime/report/commands.js'
import { LIMITS } from '../../util/limits.js'
import { DEFAULT_PROFILE_MS, MAX_PROFILE_MS } from '../../wire/cpu-profile.js'
import type { CliContext } from '../cli-context.js'
import { type ExitCode, UsageError } from '../exit.js'
import { type Flags, readSetting } from '../settings/setting.js'
import { count, duration, type Reader, range, rate } from '../settings/values.js'

/** The command line of a command: `prefork control NAME ARGUMENTS FLAGS`. */
export interface CommandLine<C extends Command> {
  readonly help: string
  readonly arguments?: string
  readonly flags?: readonly (readonly [flag: string, help: string])[]
  read(args: readonly string[], flags: Flags): C
  /** In place of `control`, which prints the answers as JSON. */
  run?(command: C, flags: Flags, context: CliContext): Promise<ExitCode>
}

const flagOf = <T>(flag: string, reader: Reader<T>, flags: Flags): T | undefined => readSetting({ flag, reader }, flags, {})

const argument = <T>(what: string, reader: Reader<T>, text: string): T => {
  const value = reader.read(text)
  if (value === undefined) throw new UsageError(`${what} must be ${reader.wants}; it was given '${text}'.`)
  return value
}

const plain = <N extends CommandName>(command: N, help: string): CommandLine<Command & { command: N }> => ({
  help,
  read: () => ({ command }) as Command & { command: N },
})

const changeBy = <N extends 'grow' | 'shrink'>(command: N, help: string): CommandLine<Command & { command: N }> => ({
  help,
  arguments: '[by]',
  read: ([by]) => ({ command, by: by === undefined ? undefined : argument('The number of workers', count(1, LIMITS.workers), by) }) as Command & { command: N },
})

/** Every command of a node. */
export const CONTROL_COMMANDS: { readonly [N in CommandName]: CommandLine<Command & { command: N }> } = {
  ping: plain('ping', 'which nodes answer'),
  snapshot: {
    help: 'the statistics of a node and its last jobs, with their arguments, errors and logs',
    flags: [['--id <id>', 'only the jobs with this id']],
    read: (_, { id }) => ({ command: 'snapshot', ...(id === undefined ? {} : { id: String(id) }) }),
  },
  stats: plain('stats', 'the statistics of a node and its workers'),
  shutdown: {
    help: 'drain, then end',
    flags: [['--grace <time>', 'for jobs in flight, such as 30s; default the node’s own']],
    read: (_, flags) => ({ command: 'shutdown', grace: flagOf('--grace', duration({ zero: true }), flags) }),
  },
  quiet: plain('quiet', 'take no more jobs, finish those that the node holds'),
  pause: plain('pause', 'start no more jobs until resume'),
  resume: plain('resume', 'take jobs again, after pause or quiet'),
  grow: changeBy('grow', 'more workers, by default 1'),
  shrink: changeBy('shrink', 'fewer workers, by default 1'),
  autoscale: {
    help: 'scale by the backlog between these numbers of workers',
    arguments: '<min,max>',
    read: ([bounds]) => ({ command: 'autoscale', ...argument('The bounds', range, bounds!) }),
  },
  restart: plain('restart', 'replace the workers one after another; no job is dropped'),
  revoke: {
    help: 'never start the first job of this id that is there or comes',
    arguments: '[id]',
    flags: [
      ['--queue <name>', 'only a job of this queue'],
      ['--key <key>', 'the job of this key, in place of an id: no other job has it'],
      ['--terminate', 'end it if it runs'],
    ],
    read: ([id], flags) => {
      const { queue, key } = flags
      if ((id === undefined) === (key === undefined)) throw new UsageError('revoke wants an id, or --key KEY.')
      if (key !== undefined && queue !== undefined) throw new UsageError('revoke wants no --queue with --key: a key names one job in all queues.')
      const terminate = flags.terminate === true
      if (key !== undefined) return { command: 'revoke', key: String(key), terminate }
      return { command: 'revoke', id: id!, terminate, ...(queue === undefined ? {} : { queue: String(queue) }) }
    },
  },
  rate_limit: {
    help: 'limit how often jobs of a task, or of a queue, start',
    arguments: '<limit>',
    flags: [
      ['--task <name>', 'the task'],
      ['--queue <name>', 'the queue'],
    ],
    read: ([limit], flags) => {
      const { task, queue } = flags
      if ((task === undefined) === (queue === undefined)) throw new UsageError('rate_limit wants one of --task NAME and --queue NAME.')
      return { command: 'rate_limit', limit: argument('The limit', rate, limit!), ...(task === undefined ? { queue: String(queue) } : { task: String(task) }) }
    },
  },
  profile: {
    help: 'what a worker executes in the next seconds: writes a .cpuprofile and prints the heaviest calls',
    arguments: '<worker>',
    flags: [
      ['--ms <ms>', `how long, in ms; default ${DEFAULT_PROFILE_MS}`],
      ['--output <file>', 'the file; default one in this folder, named after node, worker and time'],
    ],
    read: ([worker], flags) => {
      const ms = flagOf('--ms', count(1, MAX_PROFILE_MS), flags)
      return { command: 'profile', worker: argument('The worker', count(1), worker!), ...(ms === undefined ? {} : { ms }) }
    },
    run: async (command, flags, context) => (await import('./profile.js')).profile(command, flags, context),
  },
  stack: {
    help: 'the JavaScript stack that a worker executes now',
    arguments: '<worker>',
    read: ([worker]) => ({ command: 'stack', worker: argument('The worker', count(0), worker!) }),
  },
}
