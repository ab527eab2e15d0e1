import { Heap } from '../../../util/heap.js'
import { type EndState, isEnded, retentionOf } from '../ended-jobs.js'
import { JOB_STATES, type JobSelector, type JobState, type StoreEvent } from '../store.js'
import { matches, type Row, type Timing } from './row.js'
import { heapByTime, RowHeap } from './row-heap.js'

/** What keeps a second job with a key from being added. */
interface DedupKey {
  /** Without its body, once the job is kept no longer. */
  job: Pick<Row, 'seq' | 'id' | 'state'>
  /** ms since the epoch; undefined: for as long as the job is unfinished. */
  readonly until: number | undefined
}

/** Jobs of a queue that ended in one state. */
interface EndedRows {
  /** How many have ended: the number of the last. */
  last: number
  /** By how many they are kept for, in the order in which they ended. */
  readonly byCount: Map<number, Set<Row>>
}

const runAt = (row: Row): number | undefined => row.runAt

const noCounts = (): Record<JobState, number> => Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>

const pairKey = (queue: string, name: string): string => `${queue.length}:${queue}:${name}`

/** The jobs of a memory store with their indices and counters. It moves a job from one state to another; it does not decide when. */
export class JobTable {
  readonly #rows = new Map<number, Row>()
  readonly #ids = new Map<string, Map<string, Row>>()
  readonly #counts = new Map<string, Record<JobState, number>>()
  readonly #waiting = new Map<string, RowHeap>()
  readonly #dedup = new Map<string, DedupKey>()
  /** Keys whose job is kept no longer. */
  readonly #outliving = new Heap<{ readonly name: string; readonly seq: number; readonly until: number }>((a, b) => a.until < b.until)
  /** By queue and state. */
  readonly #ended = new Map<string, EndedRows>()
  /** Those that are delayed, by what they wait for. */
  readonly delayed: Readonly<Record<Timing, RowHeap>> = { at: heapByTime(runAt), delay: heapByTime(runAt), retry: heapByTime(runAt) }
  readonly expiries = heapByTime(({ expiresAt }) => expiresAt, 'expiryIndex')
  /** Ended ones that are not kept for ever. */
  readonly removals = heapByTime(({ keptUntil }) => keptUntil)
  /** Since they were last taken. */
  events: StoreEvent[] = []
  #lastSeq = 0

  nextSeq(): number {
    return ++this.#lastSeq
  }

  get(seq: number): Row | undefined {
    return this.#rows.get(seq)
  }

  byId(queue: string, id: string): Row | undefined {
    return this.#ids.get(queue)?.get(id)
  }

  /** The job that stands for this key now. */
  byDedupKey(queue: string, key: string, now: number): DedupKey['job'] | undefined {
    const found = this.#dedup.get(pairKey(queue, key))
    if (found === undefined) return undefined
    if (!isEnded(found.job.state) || (found.until !== undefined && found.until > now)) return found.job
    this.#dedup.delete(pairKey(queue, key))
    return undefined
  }

  setDedupKey(row: Row, ttl: number | undefined): void {
    this.#dropKeys(row.createdAt)
    if (row.dedup !== undefined) this.#dedup.set(pairKey(row.queue, row.dedup), { job: row, until: ttl === undefined ? undefined : row.createdAt + ttl })
  }

  /** Those that have outlived their job, and whose time is over. */
  #dropKeys(now: number): void {
    for (let over = this.#outliving.peek(); over !== undefined && over.until <= now; over = this.#outliving.peek()) {
      this.#outliving.pop()
      if (this.#dedup.get(over.name)?.job.seq === over.seq) this.#dedup.delete(over.name)
    }
  }

  insert(row: Row, state: JobState): void {
    this.#rows.set(row.seq, row)
    let ids = this.#ids.get(row.queue)
    if (ids === undefined) {
      ids = new Map()
      this.#ids.set(row.queue, ids)
    }
    ids.set(row.id, row)
    row.state = state
    this.#countsOf(row.queue)[state]++
    this.#index(row)
    if (state === 'waiting' || state === 'delayed') this.emit(row, state)
  }

  /** `event`: what is told; undefined: nothing. */
  move(row: Row, state: JobState, event: StoreEvent['type'] | undefined): void {
    const counts = this.#countsOf(row.queue)
    counts[row.state]--
    this.#leave(row)
    row.state = state
    counts[state]++
    this.#index(row)
    if (event !== undefined) this.emit(row, event)
  }

  emit({ queue, id, seq }: Row, type: StoreEvent['type']): void {
    this.events.push({ type, queue, id, seq })
  }

  has(row: Row): boolean {
    return this.#rows.get(row.seq) === row
  }

  /** `force`: its key goes too, where it would outlive it. It may be gone already: it has just ended, and is not kept. */
  delete(row: Row, force = false): void {
    if (this.has(row)) {
      this.#leave(row)
      this.#rows.delete(row.seq)
      this.#ids.get(row.queue)?.delete(row.id)
      this.#countsOf(row.queue)[row.state]--
    }
    if (row.dedup !== undefined) this.#leaveKey(row, pairKey(row.queue, row.dedup), force)
  }

  #leaveKey({ seq, id, state }: Row, name: string, force: boolean): void {
    const key = this.#dedup.get(name)
    if (key?.job.seq !== seq) return
    if (force || key.until === undefined) this.#dedup.delete(name)
    else {
      key.job = { seq, id, state }
      this.#outliving.push({ name, seq, until: key.until })
    }
  }

  #index(row: Row): void {
    const { state } = row
    if (row.expiresAt !== undefined && !isEnded(state) && state !== 'active') this.expiries.push(row)
    if (state === 'waiting') this.#waitingOf(row.queue).push(row)
    else if (state === 'delayed') this.delayed[row.timing].push(row)
    else if (isEnded(state)) this.#retain(row, state)
  }

  /** Takes it out of the indices of its state. */
  #leave(row: Row): void {
    const { state, queue } = row
    this.expiries.delete(row)
    if (state === 'waiting') this.#waitingOf(queue).delete(row)
    else if (state === 'delayed') for (const heap of Object.values(this.delayed)) heap.delete(row)
    else if (isEnded(state)) {
      this.removals.delete(row)
      this.#endedOf(queue, state).byCount.get(retentionOf(row.options, state).count)?.delete(row)
    }
  }

  /** An ended job is kept for a time, and until so many others have ended. One that is not kept pushes out no other. */
  #retain(row: Row, state: EndState): void {
    const { age, count } = retentionOf(row.options, state)
    if (count === 0) {
      this.delete(row)
      return
    }
    const ended = this.#endedOf(row.queue, state)
    row.keptTo = ++ended.last + count
    const alike = ended.byCount.get(count) ?? new Set()
    ended.byCount.set(count, alike.add(row))
    for (const rows of ended.byCount.values()) {
      for (const oldest of rows) {
        if (oldest.keptTo > ended.last) break
        this.delete(oldest)
      }
    }
    row.keptUntil = age === Number.POSITIVE_INFINITY ? undefined : row.endedAt! + age
    if (row.keptUntil !== undefined) this.removals.push(row)
  }

  #endedOf(queue: string, state: EndState): EndedRows {
    const key = pairKey(queue, state)
    let ended = this.#ended.get(key)
    if (ended === undefined) {
      ended = { last: 0, byCount: new Map() }
      this.#ended.set(key, ended)
    }
    return ended
  }

  #waitingOf(queue: string): RowHeap {
    let heap = this.#waiting.get(queue)
    if (heap === undefined) {
      heap = new RowHeap((a, b) => (a.priority === b.priority ? a.seq < b.seq : a.priority > b.priority))
      this.#waiting.set(queue, heap)
    }
    return heap
  }

  /** The most urgent job that waits in a queue. */
  firstWaiting(queue: string): Row | undefined {
    return this.#waiting.get(queue)?.peek()
  }

  #countsOf(queue: string): Record<JobState, number> {
    let counts = this.#counts.get(queue)
    if (counts === undefined) {
      counts = noCounts()
      this.#counts.set(queue, counts)
    }
    return counts
  }

  counts(queues: readonly string[] | undefined): Record<string, Record<JobState, number>> {
    const named = queues ?? [...this.#counts.keys()].filter((queue) => Object.values(this.#countsOf(queue)).some((count) => count > 0))
    return Object.fromEntries(named.map((queue) => [queue, { ...(this.#counts.get(queue) ?? noCounts()) }]))
  }

  /** The jobs that a selector may mean, by `seq` upwards: those that there are at the first call, unless they are removed before their turn. */
  *candidates(selector: JobSelector): Generator<Row> {
    const last = this.#lastSeq
    for (const row of this.#named(selector)) {
      if (row.seq > last) return
      if (this.#rows.get(row.seq) === row) yield row
    }
  }

  #named({ queue, ids }: JobSelector): Iterable<Row> {
    if (ids === undefined) return queue === undefined ? this.#rows.values() : (this.#ids.get(queue)?.values() ?? [])
    const queues = queue === undefined ? [...this.#ids.keys()] : [queue]
    const rows = queues.flatMap((each) => [...new Set(ids)].flatMap((id) => this.byId(each, id) ?? []))
    return rows.sort((a, b) => a.seq - b.seq)
  }
}

/** Those of the candidates that match, at most so many, from so many that are looked at; the next call goes on. `isLast`: there are no more. */
export const nextMatching = (
  candidates: Iterator<Row>,
  selector: JobSelector,
  now: number,
  most: number,
  lookAt: number,
  isMeant: (row: Row) => boolean = () => true,
): { readonly rows: Row[]; readonly isLast: boolean } => {
  const rows: Row[] = []
  for (let looked = 0; looked < lookAt && rows.length < most; looked++) {
    const next = candidates.next()
    if (next.done) return { rows, isLast: true }
    if (matches(next.value, selector, now) && isMeant(next.value)) rows.push(next.value)
  }
  return { rows, isLast: rows.length >= most }
}
