import type { Command, CommandName } from '../../runtime/report/commands.js'
import { LIMITS } from '../../util/limits.js'
import { UsageError } from '../exit.js'
import type { Flags, Setting } from '../settings/setting.js'
import { readSetting } from '../settings/setting.js'
import { count, duration, type Reader, range, rate } from '../settings/values.js'

/** How a command is typed: `prefork control NAME ARGUMENTS FLAGS`. */
interface Typed<C extends Command> {
  readonly help: string
  readonly arguments?: string
  readonly flags?: readonly (readonly [flag: string, help: string])[]
  read(args: readonly string[], flags: Flags): C
}

const flagOf = <T>(flag: string, reader: Reader<T>, flags: Flags): T | undefined =>
  readSetting({ flag, variable: undefined, reader } satisfies Setting<T>, flags, {})

const argument = <T>(what: string, reader: Reader<T>, text: string): T => {
  const value = reader.read(text)
  if (value === undefined) throw new UsageError(`${what} must be ${reader.wants}; it was given '${text}'.`)
  return value
}

const plain = <N extends CommandName>(command: N, help: string): Typed<Command & { command: N }> => ({
  help,
  read: () => ({ command }) as Command & { command: N },
})

const changeBy = <N extends 'grow' | 'shrink'>(command: N, help: string): Typed<Command & { command: N }> => ({
  help,
  arguments: '[by]',
  read: ([by]) => ({ command, by: by === undefined ? undefined : argument('The number of workers', count(1, LIMITS.workers), by) }) as Command & { command: N },
})

/** Every command of a node. */
export const CONTROL_COMMANDS: { readonly [N in CommandName]: Typed<Command & { command: N }> } = {
  ping: plain('ping', 'who is there'),
  snapshot: plain('snapshot', 'the figures of a node and its last tasks, with their logs'),
  stats: plain('stats', 'the figures of a node and its workers'),
  shutdown: {
    help: 'drain, then end',
    flags: [['--grace <time>', 'for jobs in flight, such as 30s; default the node’s own']],
    read: (_, flags) => ({ command: 'shutdown', grace: flagOf('--grace', duration({ zero: true }), flags) }),
  },
  quiet: plain('quiet', 'take no more jobs, go on with those in hand'),
  pause: plain('pause', 'begin no more jobs until resume'),
  resume: plain('resume', 'take jobs again, after pause or quiet'),
  grow: changeBy('grow', 'more workers, 1 unless told'),
  shrink: changeBy('shrink', 'fewer workers, 1 unless told'),
  autoscale: {
    help: 'scale by the backlog between least and most',
    arguments: '<min,max>',
    read: ([bounds]) => ({ command: 'autoscale', ...argument('The bounds', range, bounds!) }),
  },
  restart: plain('restart', 'new workers for old, one after another; no job is dropped'),
  revoke: {
    help: 'never begin the job of this id',
    arguments: '<id>',
    flags: [['--terminate', 'end it when it runs']],
    read: ([id], flags) => ({ command: 'revoke', id: id!, terminate: flags.terminate === true }),
  },
  rate_limit: {
    help: 'begin jobs of a task, or of a queue, no faster than this',
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
  stack: {
    help: 'what a worker executes right now: its JavaScript stack',
    arguments: '<worker>',
    read: ([worker]) => ({ command: 'stack', worker: argument('The worker', count(0), worker!) }),
  },
}
