import type { SerializedError } from '../../../runtime/delivery.js'
import { monotonicNow } from '../clock-jumps.js'
import { CANCELLED, dependencyFailed, type EndState, EXPIRED, isEnded, SESSION_LOST, withSessionLoss } from '../ended-jobs.js'
import { unknownDependency } from '../errors.js'
import type { AddedJob, JobChange, JobSelector, Lease, NewJob, Outcome } from '../store.js'
import { JobTable, nextMatching } from './job-table.js'
import { FIRST_COUNTS, newRow, type Row, type Timing } from './row.js'

/** How a job that has ended came to it. */
interface End {
  readonly reason: string | undefined
  readonly error: SerializedError | undefined
  readonly answer?: Uint8Array
}

const unbegun = (row: Row): boolean => row.state === 'waiting' || row.state === 'delayed' || row.state === 'blocked'

const IS_MEANT: Readonly<Record<JobChange, (row: Row) => boolean>> = {
  cancel: (row) => unbegun(row) || (row.state === 'active' && !row.cancelRequested),
  retry: (row) => isEnded(row.state) && row.state !== 'completed',
  promote: (row) => row.state === 'delayed',
  remove: (row) => row.state !== 'active',
}

/** The states of jobs and what leads from one to the next. Each call is one transaction: it checks first, then changes. */
export class Transitions {
  readonly table = new JobTable()
  /** What is to be added to the time of a delay to get the wall clock's: the sum of its jumps, ms. */
  shift = 0
  /** Somebody cancels a job that is claimed. */
  onCancel: (row: Row) => void = () => {}

  // ---- adding

  add(jobs: readonly NewJob[], now: number): AddedJob[] {
    const { table } = this
    const events = table.events.length
    const added: Row[] = []
    try {
      return jobs.map((job) => this.#addOne(job, now, added))
    } catch (error) {
      for (const row of added.reverse()) {
        for (const dependency of row.dependsOn) dependency.dependents.delete(row)
        table.delete(row, true)
      }
      table.events.length = events
      throw error
    }
  }

  #addOne(job: NewJob, now: number, added: Row[]): AddedJob {
    const { table } = this
    const { queue, id, dedup } = job
    const present = table.byId(queue, id) ?? (dedup === undefined ? undefined : table.byDedupKey(queue, dedup.key, now))
    if (present !== undefined) return { seq: present.seq, id: present.id, state: present.state, added: false }
    const dependsOn = [...new Set(job.dependsOn)].map((each) => {
      const dependency = table.byId(queue, each)
      if (dependency === undefined) throw unknownDependency(id, queue, each)
      return dependency
    })
    const row = newRow(table.nextSeq(), job, dependsOn, now, { shift: this.shift, offset: now - monotonicNow() })
    const failed = this.#await(row)
    table.insert(row, failed !== undefined || row.waitsOn.size > 0 ? 'blocked' : this.#due(row, now))
    added.push(row)
    table.setDedupKey(row, dedup?.ttl)
    if (failed !== undefined) this.#end(row, 'failed', dependencyFailed(failed.id), now)
    return { seq: row.seq, id, state: row.state, added: true }
  }

  /** Lets it wait on what it depends on. Returns one of these that has failed, if it is to fail as well. */
  #await(row: Row): Row | undefined {
    let failed: Row | undefined
    for (const dependency of row.dependsOn) {
      if (dependency.state === 'completed') {
        row.results.set(dependency.id, dependency.answer!)
        continue
      }
      dependency.dependents.add(row)
      if (!isEnded(dependency.state)) row.waitsOn.add(dependency)
      else if (row.onFailedDependency === 'fail') failed ??= dependency
    }
    return failed
  }

  #due(row: Row, now: number): 'waiting' | 'delayed' {
    return row.runAt !== undefined && row.runAt > this.#time(row.timing, now) ? 'delayed' : 'waiting'
  }

  /** The time by which it is due, ms. */
  #time(timing: Timing, now: number): number {
    return timing === 'at' ? now : now - this.shift
  }

  // ---- claims and what becomes of them

  claim(row: Row, session: object, node: string): void {
    row.token++
    row.session = session
    row.node = node
    row.begun = 0
    this.table.move(row, 'active', 'active')
  }

  /** The job of a lease; undefined: the claim is over. */
  held({ seq, token }: Lease, session: object): Row | undefined {
    const row = this.table.get(seq)
    return row !== undefined && row.state === 'active' && row.token === token && row.session === session ? row : undefined
  }

  /** False: the job was cancelled before, and has ended so. */
  settle(row: Row, outcome: Outcome, now: number): boolean {
    const refused = row.cancelRequested && (outcome.as === 'completed' || outcome.as === 'failed' || outcome.as === 'expired')
    if (outcome.as === 'release') this.#release(row, now)
    else if (outcome.as === 'completed') {
      if (outcome.record !== undefined) {
        row.counts = outcome.record.counts
        row.history = outcome.record.history
      }
      this.#end(row, refused ? 'cancelled' : 'completed', refused ? CANCELLED : { reason: undefined, error: undefined, answer: outcome.answer }, now)
    } else {
      row.counts = outcome.counts
      row.history = outcome.history
      if (outcome.as === 'retry') this.#retryAfter(row, outcome.delay, outcome.error, now)
      else this.#end(row, refused ? 'cancelled' : outcome.as, refused ? CANCELLED : outcome, now)
    }
    return !refused
  }

  #retryAfter(row: Row, delay: number, error: SerializedError, now: number): void {
    if (row.cancelRequested) {
      this.#end(row, 'cancelled', CANCELLED, now)
      return
    }
    row.error = error
    row.timing = 'retry'
    row.runAt = this.#time('retry', now) + delay
    this.#giveUp(row)
    this.table.move(row, delay > 0 ? 'delayed' : 'waiting', 'retrying')
  }

  /** It did not begin: it waits as before. */
  #release(row: Row, now: number): void {
    if (row.cancelRequested) this.#end(row, 'cancelled', CANCELLED, now)
    else {
      this.#giveUp(row)
      this.table.move(row, 'waiting', 'waiting')
    }
  }

  #giveUp(row: Row): void {
    row.session = undefined
    row.node = undefined
    row.begun = 0
  }

  /** The session that held it is dead. */
  lose(row: Row, now: number): void {
    const { counts, begun } = row
    row.counts = begun > 0 ? { ...counts, losses: counts.losses + begun } : { ...counts, requeues: counts.requeues + 1 }
    if (begun > 0) {
      row.error = SESSION_LOST
      row.history = withSessionLoss(row.history, counts, row.node ?? '', now)
      this.table.emit(row, 'stalled')
    }
    this.#release(row, now)
  }

  // ---- ends

  /** Ends a job, and those that fail with it. A list, not a recursion: a chain of them may be long. */
  #end(row: Row, state: EndState, end: End, now: number): void {
    const ends: [Row, EndState, End][] = [[row, state, end]]
    for (const [each, as, how] of ends) {
      // It may have depended on two of them.
      if (isEnded(each.state)) continue
      for (const dependent of this.#endOne(each, as, how, now)) {
        if (this.#dependencyEnded(dependent, each, how.answer, now)) ends.push([dependent, 'failed', dependencyFailed(each.id)])
      }
    }
  }

  /** Returns the jobs that waited on it. */
  #endOne(row: Row, state: EndState, { reason, error, answer }: End, now: number): Row[] {
    row.endedAt = now
    row.reason = reason
    row.error = error
    row.answer = answer
    row.cancelRequested = false
    row.session = undefined
    for (const dependency of row.dependsOn) dependency.dependents.delete(row)
    row.waitsOn.clear()
    const dependents = [...row.dependents]
    // One that has not succeeded may be retried: who still waits for others then waits for it too.
    if (state === 'completed') {
      row.dependents.clear()
      row.dependsOn = []
      row.results.clear()
    }
    this.table.move(row, state, state)
    return dependents
  }

  /** True: it is to fail as well. */
  #dependencyEnded(row: Row, dependency: Row, answer: Uint8Array | undefined, now: number): boolean {
    row.waitsOn.delete(dependency)
    // Also for one that no longer waits for it: it failed before, and a user let it run again.
    if (answer !== undefined && row.state !== 'completed') row.results.set(dependency.id, answer)
    if (row.state !== 'blocked') return false
    if (answer === undefined && row.onFailedDependency === 'fail') return true
    if (row.waitsOn.size === 0) {
      const state = this.#due(row, now)
      this.table.move(row, state, state)
    }
    return false
  }

  // ---- what a user changes

  /** Changes the next ones of the candidates that match, from so many that are looked at. `isLast`: there are no more. */
  alter(
    candidates: Iterator<Row>,
    selector: JobSelector,
    change: JobChange,
    now: number,
    most: number,
    lookAt: number,
  ): { readonly ids: string[]; readonly isLast: boolean } {
    const isMeant = IS_MEANT[change]
    const { rows, isLast } = nextMatching(candidates, selector, now, most, lookAt, isMeant)
    // One of them may have ended with another that it depended on, or pushed out one that had ended.
    return { ids: rows.filter((row) => this.table.has(row) && isMeant(row) && this.#alterOne(row, change, now)).map(({ id }) => id), isLast }
  }

  #alterOne(row: Row, change: JobChange, now: number): true {
    if (change === 'cancel' && row.state !== 'active') this.#end(row, 'cancelled', CANCELLED, now)
    else if (change === 'cancel') {
      row.cancelRequested = true
      this.onCancel(row)
    } else if (change === 'retry') this.#again(row, now)
    else if (change === 'promote') {
      row.runAt = undefined
      this.table.move(row, 'waiting', 'waiting')
    } else {
      // For those who depend on it, it has failed.
      if (!isEnded(row.state)) this.#end(row, 'cancelled', CANCELLED, now)
      this.table.delete(row, true)
    }
    return true
  }

  /** It waits again as if it were new, with its history. What it depends on and has failed does not keep it back a second time. */
  #again(row: Row, now: number): void {
    row.counts = FIRST_COUNTS
    row.expiresAt = undefined
    row.timing = 'at'
    row.runAt = undefined
    row.endedAt = undefined
    row.reason = undefined
    row.progress = undefined
    row.dedup = undefined
    this.#giveUp(row)
    this.#await(row)
    for (const dependent of row.dependents) if (dependent.state === 'blocked') dependent.waitsOn.add(row)
    const state = row.waitsOn.size > 0 ? 'blocked' : this.#due(row, now)
    this.table.move(row, state, state === 'blocked' ? undefined : state)
  }

  // ---- what time brings

  /** Handles all that is due. `promote`: jobs that a user delayed are let go as well. */
  sweep(now: number, promote: boolean): void {
    const { table } = this
    // One of them may have ended with another that it depended on.
    for (const row of table.expiries.takeWhile(({ expiresAt }) => expiresAt! <= now)) if (unbegun(row)) this.#end(row, 'expired', EXPIRED, now)
    for (const timing of timingsOf(promote)) {
      const time = this.#time(timing, now)
      for (const row of table.delayed[timing].takeWhile(({ runAt }) => runAt! <= time)) table.move(row, 'waiting', 'waiting')
    }
    for (const row of table.removals.takeWhile(({ keptUntil }) => keptUntil! <= now)) table.delete(row)
  }

  /** When the next thing is due. */
  nextDue(promote: boolean): number | undefined {
    const { table } = this
    return earliest(table.expiries.peek()?.expiresAt, this.nextPromotion(promote), table.removals.peek()?.keptUntil)
  }

  /** When a job may become one that waits. */
  nextPromotion(promote: boolean): number | undefined {
    return earliest(
      ...timingsOf(promote).map((timing) => {
        const runAt = this.table.delayed[timing].peek()?.runAt
        return runAt === undefined || timing === 'at' ? runAt : runAt + this.shift
      }),
    )
  }
}

const timingsOf = (promote: boolean): readonly Timing[] => (promote ? ['retry', 'at', 'delay'] : ['retry'])

/** The smallest of those that are known. */
export const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
