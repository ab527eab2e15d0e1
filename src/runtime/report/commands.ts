import {
  arrayOf,
  type Check,
  count,
  countFrom,
  flag,
  isString,
  millisecondsOrZero,
  nonEmptyString,
  plainObject,
  refusal,
  refuseUnknownNames,
} from '../../util/checks.js'
import { MAX_WORKERS } from '../../util/limits.js'
import { nearest } from '../../util/nearest.js'
import { MAX_PROFILE_MS } from '../../wire/cpu-profile.js'
import { parseRate } from '../admission/rate-limits.js'
import type { RememberedId, RememberedRevocations } from '../admission/revocations.js'

/** The commands that an operator can send to a node. Times in ms. */
export type Command =
  | { command: 'ping' }
  /** `id`: only the jobs with this id. */
  | { command: 'snapshot'; id?: string }
  | { command: 'stats' }
  /** `grace`: ms for the drain. Default: the node's `shutdownGrace`. */
  | { command: 'shutdown'; grace?: number }
  | { command: 'quiet' }
  | { command: 'pause' }
  | { command: 'resume' }
  | { command: 'grow'; by?: number }
  | { command: 'shrink'; by?: number }
  | { command: 'autoscale'; min: number; max: number }
  | { command: 'restart' }
  /** The job with this key, or the first with this id (in `queue`, if it is given). Either `key` or `id`. */
  | { command: 'revoke'; id?: string; queue?: string; key?: string; terminate?: boolean }
  /** `limit`: '10/s', '600/m', '1000/h', or null to lift it. Exactly one of `task` and `queue`. */
  | { command: 'rate_limit'; task?: string; queue?: string; limit: string | null }
  | { command: 'stack'; worker: number }
  /** `ms`: how long; default 5,000. */
  | { command: 'profile'; worker: number; ms?: number }

export type CommandName = Command['command']

/** From another node: a revocation by id has met its job there. `key`: that of the job, if no other has it. */
export interface SpentMessage {
  command: 'revocation_spent'
  id: string
  queue?: string | undefined
  key?: string | undefined
  node: string
}

/** From a node that starts: it wants the revocations that the others remember. The answer is `RememberedRevocations`. */
export interface RevocationsMessage {
  command: 'revocations'
  node: string
}

/** What nodes send each other, as commands. Not for operators. */
export type NodeMessage = SpentMessage | RevocationsMessage

/** The nodes that a command is for: a list of names, or 'all'. */
export type Address = 'all' | readonly string[]

export type Answer = { node: string; ok: true; value: unknown } | { node: string; ok: false; error: string }

type Fields = Record<string, unknown>

const optional = <T>(name: string, value: unknown, check: Check<T>): T | undefined => (value === undefined ? undefined : check(name, value))

const workers = countFrom(1, MAX_WORKERS)
const profileTime = countFrom(1, MAX_PROFILE_MS)

/** Without the fields that are undefined. */
const compact = <T extends object>(fields: T): T => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

const plain = (command: 'ping' | 'stats' | 'quiet' | 'pause' | 'resume' | 'restart') => ({
  fields: [] as string[],
  read: (): Command => ({ command }),
})

const rateLimit = ({ task, queue, limit }: Fields): Command => {
  if ((task === undefined) === (queue === undefined)) throw new TypeError("rate_limit wants exactly one of 'task' and 'queue'.")
  if (limit !== null) parseRate(limit)
  return compact({
    command: 'rate_limit',
    task: optional('task', task, nonEmptyString),
    queue: optional('queue', queue, nonEmptyString),
    limit: limit as string | null,
  })
}

const revoke = ({ id, queue, key, terminate }: Fields): Command => {
  if ((id === undefined) === (key === undefined)) throw new TypeError("revoke wants exactly one of 'id' and 'key'.")
  if (key !== undefined && queue !== undefined) throw new TypeError("revoke wants no 'queue' with a 'key': a key names one job in all queues.")
  return compact({
    command: 'revoke',
    id: optional('id', id, nonEmptyString),
    queue: optional('queue', queue, nonEmptyString),
    key: optional('key', key, nonEmptyString),
    terminate: optional('terminate', terminate, flag),
  })
}

const autoscale = ({ min, max }: Fields): Command => {
  const least = workers('min', min)
  const most = workers('max', max)
  if (most < least) throw refusal('max', `at least min, ${least}`, most)
  return { command: 'autoscale', min: least, max: most }
}

const COMMANDS: { readonly [N in CommandName]: { readonly fields: readonly string[]; readonly read: (fields: Fields) => Command } } = {
  ping: plain('ping'),
  snapshot: { fields: ['id'], read: ({ id }) => compact({ command: 'snapshot', id: optional('id', id, nonEmptyString) }) },
  stats: plain('stats'),
  quiet: plain('quiet'),
  pause: plain('pause'),
  resume: plain('resume'),
  restart: plain('restart'),
  shutdown: { fields: ['grace'], read: (given) => compact({ command: 'shutdown', grace: optional('grace', given.grace, millisecondsOrZero) }) },
  grow: { fields: ['by'], read: ({ by }) => compact({ command: 'grow', by: optional('by', by, workers) }) },
  shrink: { fields: ['by'], read: ({ by }) => compact({ command: 'shrink', by: optional('by', by, workers) }) },
  autoscale: { fields: ['min', 'max'], read: autoscale },
  revoke: {
    fields: ['id', 'queue', 'key', 'terminate'],
    read: revoke,
  },
  rate_limit: { fields: ['task', 'queue', 'limit'], read: rateLimit },
  profile: {
    fields: ['worker', 'ms'],
    read: ({ worker, ms }) => compact({ command: 'profile', worker: count('worker', worker, 1), ms: optional('ms', ms, profileTime) }),
  },
  stack: { fields: ['worker'], read: ({ worker }) => ({ command: 'stack', worker: count('worker', worker, 1) }) },
}

/**
 * Checks what another node sends. Undefined: it is something else.
 *
 * @throws {TypeError} a field has a value it cannot have
 */
export const readNodeMessage = (given: unknown): NodeMessage | undefined => {
  const { command, id, queue, key, node } = plainObject('command', given)
  if (command === 'revocations') return { command, node: nonEmptyString('node', node) }
  if (command !== 'revocation_spent') return undefined
  return {
    command,
    id: nonEmptyString('id', id),
    queue: optional('queue', queue, nonEmptyString),
    key: optional('key', key, nonEmptyString),
    node: nonEmptyString('node', node),
  }
}

/**
 * Checks another node's answer to `revocations`.
 *
 * @throws {TypeError} it has another form
 */
export const readRevocations = (given: unknown): RememberedRevocations => {
  const { keys, ids, spent = [] } = plainObject('revocations', given)
  return {
    keys: arrayOf('keys', keys, 'an array of keys', 'a key', isString),
    ids: arrayOf('ids', ids, 'an array of ids', AN_ID, isRememberedId),
    spent: arrayOf('spent', spent, 'an array of ids', AN_ID, isRememberedId),
  }
}

const AN_ID = 'an id, a queue or none, and a time in ms'

const isRememberedId = (value: unknown): value is RememberedId => {
  const { id, queue, at } = (value ?? {}) as { id?: unknown; queue?: unknown; at?: unknown }
  return isString(id) && (queue === undefined || isString(queue)) && Number.isFinite(at)
}

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[]

/**
 * Checks a command that comes from outside.
 *
 * @throws {TypeError} there is no such command, a field is unknown, or has a value it cannot have
 * @throws {RangeError} a rate limit of another form
 */
export const readCommand = (given: unknown): Command => {
  const fields = plainObject('command', given)
  const { command, ...rest } = fields
  if (typeof command !== 'string' || !Object.hasOwn(COMMANDS, command)) {
    const near = typeof command === 'string' ? nearest(command, COMMAND_NAMES) : undefined
    throw new TypeError(
      `There is no command '${String(command)}'${near === undefined ? '' : `; did you mean '${near}'?`} There are: ${COMMAND_NAMES.join(', ')}.`,
    )
  }
  const { fields: names, read } = COMMANDS[command as CommandName]
  refuseUnknownNames(`the command '${command}'`, rest, names)
  return read(rest)
}
