import type { Lease } from '../../store.js'
import type { StoreContext } from './context.js'
import { type JobRow, jobRows } from './rows.js'
import { giveBack, lose } from './settle.js'

/** Jobs of a dead session that one transaction gives back, at most. */
const SLICE = 1_000

/** Beats that are further apart say that this process could not write, or did not run, ms: what it saw before does not count. */
const MAX_GAP = 3_000

export interface SessionRow {
  readonly id: number
  readonly name: string
  /** File name beside the database, or an absolute path; null: it could not listen. */
  readonly socket: string | null
  readonly beat: number
  readonly dead: number
  readonly watches: number
}

export const openSession = ({ sql, effects }: StoreContext, name: string, socket: string | null, watches: boolean): number => {
  effects.sessions = true
  return Number(sql.insertSession.run(name, socket, watches ? 1 : 0).lastInsertRowid)
}

export const sessions = ({ sql }: StoreContext): SessionRow[] => sql.sessions.all() as unknown as SessionRow[]

/** Gives back what a session holds. True: there is more. The row goes last: nothing is ever held by a session that is not there. */
const empty = (context: StoreContext, session: number, change: (context: StoreContext, row: JobRow) => void): boolean => {
  const { sql, effects } = context
  const rows = jobRows(sql.held.all(session, SLICE))
  for (const row of rows) change(context, row)
  if (rows.length === SLICE) return true
  sql.deleteSession.run(session)
  effects.sessions = true
  return false
}

/** Ends a session in order: from the first slice on it claims nothing. True: there is more. */
export const closeSession = (context: StoreContext, session: number): boolean => {
  context.sql.markDead.run(session)
  return empty(context, session, (inContext, row) => giveBack(inContext, row))
}

/** Ends a session whose process is dead, unless it has beaten since `beat`. True: there is more. */
export const sweepSession = (context: StoreContext, session: number, beat: number): boolean => {
  if (context.sql.markStill.run(session, beat).changes === 0) return false
  return empty(context, session, lose)
}

/** Renews sessions. Returns those that are lost. */
export const beat = ({ sql }: StoreContext, own: Iterable<number>): number[] => [...own].filter((id) => sql.beat.run(id).changes === 0)

/** The claimed jobs of these sessions that somebody cancels. */
export const cancelled = ({ sql }: StoreContext, own: Iterable<number>): { session: number; lease: Lease }[] =>
  [...own].flatMap((session) => sql.cancelled.all(session).map(({ seq, token }) => ({ session, lease: { seq: seq as number, token: token as number } })))

/**
 * Which sessions stand still, as this process sees it: its own monotonic clock counts, from the first time it saw the beat that it sees now, and only
 * while it could write all the time. No clock is compared with another's.
 */
export class Liveness {
  readonly #seen = new Map<number, { readonly beat: number; readonly since: number }>()
  readonly #lease: number
  #lastLook = Number.NEGATIVE_INFINITY

  /** `lease`: how long a beat may stand still, ms. */
  constructor(lease: number) {
    this.#lease = lease
  }

  /** To be called about each second, after a transaction that wrote. Returns the sessions whose beat has stood still for too long. */
  look(rows: readonly SessionRow[], monotonic: number): number[] {
    if (monotonic - this.#lastLook > Math.min(MAX_GAP, this.#lease)) this.#seen.clear()
    this.#lastLook = monotonic
    const present = new Set(rows.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id)
    return rows.flatMap(({ id, beat: now }) => {
      const seen = this.#seen.get(id)
      if (seen?.beat === now) return monotonic - seen.since >= this.#lease ? [id] : []
      this.#seen.set(id, { beat: now, since: monotonic })
      return []
    })
  }
}
