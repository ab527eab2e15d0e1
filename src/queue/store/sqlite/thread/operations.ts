import { MAX_ALTERED } from '../../store.js'
import { add } from '../engine/add.js'
import { alter } from '../engine/alter.js'
import { claim } from '../engine/claim.js'
import type { StoreContext } from '../engine/context.js'
import { counts, find, read } from '../engine/find.js'
import { schedulesOf, setSchedule, tick } from '../engine/schedules.js'
import { beat, closeSession, openSession, type SessionRow, sessions, sweepSession } from '../engine/sessions.js'
import { began, progress, settle } from '../engine/settle.js'
import { sweep } from '../engine/sweep.js'
import type { Operation } from '../protocol.js'
import type { ThreadState } from './thread-state.js'

/** What the thread does by itself. */
export type OwnOperation =
  | { readonly op: 'beat' }
  /** Handles what is due. */
  | { readonly op: 'sweep' }
  /** Adds the jobs of ticks that are due. */
  | { readonly op: 'tick' }
  /** Gives back what a dead session holds, unless it has beaten since `beat`. */
  | { readonly op: 'sweepSession'; readonly session: number; readonly beat: number }

export type AnyOperation = Operation | OwnOperation

export interface Beat {
  /** Own sessions that another process took for dead. */
  readonly lost: readonly number[]
  readonly rows: readonly SessionRow[]
}

/** Operations that change nothing, and need no transaction. */
const READS: ReadonlySet<AnyOperation['op']> = new Set(['find', 'read', 'counts', 'readQueue', 'schedules', 'sessionCount'])

export const isRead = ({ op }: AnyOperation): boolean => READS.has(op)

/** In one batch settlements come first, and claims last: what they free or add may be claimed in the same commit. */
const PHASES: Partial<Record<AnyOperation['op'], number>> = {
  beat: 0,
  settle: 1,
  began: 1,
  progress: 1,
  sweep: 4,
  tick: 4,
  sweepSession: 4,
  claim: 5,
  closeSession: 6,
}

export const phaseOf = ({ op }: AnyOperation): number => PHASES[op] ?? (op === 'add' ? 3 : 2)

/** How many rows it may change, at most. */
export const weightOf = (operation: AnyOperation): number => {
  switch (operation.op) {
    case 'add':
      return operation.jobs.length
    case 'claim':
      return operation.max
    case 'alter':
      return operation.selector.ids?.length ?? (operation.selector.seq === undefined ? MAX_ALTERED : 1)
    case 'sweep':
    case 'tick':
    case 'sweepSession':
    case 'closeSession':
      return 1_000
    default:
      return 1
  }
}

const beatOnce = (context: StoreContext, state: ThreadState): Beat => ({ lost: beat(context, state.own.keys()), rows: sessions(context) })

/** Runs one operation, in a transaction where it changes something. Returns its answer. */
export const apply = (context: StoreContext, state: ThreadState, operation: AnyOperation): unknown => {
  switch (operation.op) {
    case 'add':
      return add(context, operation.jobs)
    case 'alter':
      return alter(context, operation.selector, operation.change, operation.upTo)
    case 'queue': {
      const after = context.queues.set(operation.name, operation.set)
      context.effects.ready.add(operation.name)
      context.effects.settings = true
      return after
    }
    case 'schedule':
      return setSchedule(context, operation.queue, operation.key, operation.schedule)
    case 'openSession':
      return openSession(context, operation.name, state.socket ?? null, state.watches)
    case 'closeSession':
      return closeSession(context, operation.session)
    case 'claim':
      return claim(context, operation.session, operation.queues, operation.max, state.sweeper.schedulers)
    case 'settle':
      return settle(context, operation.lease, operation.outcome)
    case 'began':
      return began(context, operation.lease, operation.beginnings, operation.history)
    case 'progress':
      return progress(context, operation.lease, operation.value)
    case 'find':
      return find(context, operation.selector)
    case 'read':
      return read(context, operation.queue, operation.id)
    case 'counts':
      return counts(context, operation.queues)
    case 'readQueue':
      return context.queues.state(operation.name)
    case 'sessionCount':
      return sessions(context).length
    case 'schedules':
      return schedulesOf(context, operation.queue)
    case 'watch':
      for (const session of state.own.keys()) context.sql.setWatches.run(session, operation.on ? 1 : 0)
      context.effects.sessions = true
      return undefined
    case 'beat':
      return beatOnce(context, state)
    case 'sweep':
      return sweep(context, state.sweeper)
    case 'tick':
      return state.sweeper.schedulers && tick(context)
    case 'sweepSession':
      return sweepSession(context, operation.session, operation.beat)
    case 'close':
      return undefined
  }
}
