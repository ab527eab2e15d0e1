import { arrayOf, isString, nonEmptyString, OptionError, objectWith, oneOf, plainObject, refuseUnknownNames } from '../../util/checks.js'
import { exactJson } from '../publishing/job-json.js'

/** Which jobs of a set: one of the three. */
export interface JobFilter {
  /** By their ids. */
  jids?: readonly string[]
  /** Those whose JSON matches a pattern of Redis, with `*`, `?` and `[…]`: `*"queue":"mail"*`. It has no space. */
  regexp?: string
  /** Those of one task. */
  jobtype?: string
}

/** A change of the jobs in a set of the server: https://github.com/contribsys/faktory/wiki/Mutate-API */
export interface MutateCommand {
  /** `requeue`: they go back to their queues; `kill`: they go to the dead set; `discard`: they are removed; `clear`: all are removed. */
  cmd: 'requeue' | 'kill' | 'discard' | 'clear'
  target: 'scheduled' | 'retries' | 'dead'
  /** Default all jobs of the set. Not with `clear`. */
  filter?: JobFilter
}

const COMMANDS = ['requeue', 'kill', 'discard', 'clear'] as const
const TARGETS = ['scheduled', 'retries', 'dead'] as const
const FILTERS = ['jids', 'regexp', 'jobtype'] as const satisfies readonly (keyof JobFilter)[]

const readFilter = (cmd: MutateCommand['cmd'], value: unknown): JobFilter | undefined => {
  if (value === undefined) return undefined
  if (cmd === 'clear') throw new OptionError('filter', "has no effect with 'clear', which removes every job: use cmd: 'discard'")
  const { jids, regexp, jobtype } = objectWith('filter', value, FILTERS)
  const given = FILTERS.filter((name) => (value as JobFilter)[name] !== undefined)
  // The server takes an empty filter for none, and one of several for all.
  if (given.length !== 1) throw new OptionError('filter', `must have one of ${FILTERS.join(', ')}; it has ${given.length === 0 ? 'none' : given.join(' and ')}`)
  if (jids !== undefined) {
    const all = arrayOf('filter.jids', jids, "an array of jobs' ids", "a job's id", isString)
    if (all.length === 0) throw new OptionError('filter.jids', 'must name a job: the server takes an empty array for every job')
    return { jids: all }
  }
  return regexp !== undefined ? { regexp: nonEmptyString('filter.regexp', regexp) } : { jobtype: nonEmptyString('filter.jobtype', jobtype) }
}

/**
 * The argument of MUTATE.
 *
 * @throws {OptionError} the command cannot be used; the server refuses one that has a space, in a pattern or a name too
 */
export const mutateArgument = (command: unknown): string => {
  const given = plainObject('command', command)
  refuseUnknownNames('mutate', given, ['cmd', 'target', 'filter'])
  const cmd = oneOf('cmd', given.cmd, COMMANDS)
  const target = oneOf('target', given.target, TARGETS)
  const filter = readFilter(cmd, given.filter)
  const text = exactJson('command', filter === undefined ? { cmd, target } : { cmd, target, filter })
  if (text.includes(' '))
    throw new OptionError('filter', "must have no space: the server's parser of MUTATE splits at it. Put '?' in a regexp, which fits any character")
  return text
}

/** Characters that mean themselves in JSON, in Go's JSON and in a pattern of Redis. */
const PLAIN = /^[\w.:@+=/-]+$/

/**
 * Fits the job with this id in this queue alone. In the text of a job its id stands before its queue, and that before its task, an order that no object in its
 * arguments or in `custom` can have: see `ofQueue`. The filter `jids` also fits a job whose arguments have a field with this id. It is left for an id that no
 * pattern can spell.
 */
export const ofJob = ({ jid, queue }: { readonly jid: string; readonly queue: string }): JobFilter =>
  PLAIN.test(jid) && PLAIN.test(queue) ? { regexp: `*,"jid":"${jid}","queue":"${queue}","jobtype":*` } : { jids: [jid] }
