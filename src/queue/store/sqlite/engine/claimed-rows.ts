import type { Lease } from '../../store.js'
import type { EndingRow } from './rows.js'

interface ClaimedRow {
  readonly row: EndingRow
  readonly token: number
  readonly session: number
}

/**
 * What the claims of this process have read of their jobs, until they are settled. It may be out of date: another process may have cancelled the job, made
 * one that depends on it, or taken it over. What is done by it checks that in the file.
 */
export class ClaimedRows {
  readonly #bySeq = new Map<number, ClaimedRow>()

  add(row: EndingRow, token: number, session: number): void {
    this.#bySeq.set(row.seq, { row, token, session })
  }

  /** The row of a claim, which is forgotten. */
  take({ seq, token }: Lease): EndingRow | undefined {
    const claimed = this.#bySeq.get(seq)
    if (claimed?.token !== token) return undefined
    this.#bySeq.delete(seq)
    return claimed.row
  }

  /** Forgets all that a session holds. */
  drop(session: number): void {
    for (const [seq, claimed] of this.#bySeq) if (claimed.session === session) this.#bySeq.delete(seq)
  }
}
