import { performance } from 'node:perf_hooks'
import { parseRate, TokenBucket } from '../../../runtime/admission/rate-limits.js'
import { clearTimeout, setImmediate, setTimeout } from '../../../util/node-time.js'
import { notify } from '../../../util/notify.js'
import { jobOfTick, nextTick, readableTicks, sameTiming } from '../../schedules/ticks.js'
import { JumpDetector } from '../clock-jumps.js'
import type { Claim, Lease, QueueState, SessionInfo, StoredSchedule, StoreEvent } from '../store.js'
import { claimedJob } from './row.js'
import { earliest, Transitions } from './transitions.js'

/** What the database asks of a session. */
export interface DatabaseSession {
  /** There may be something to claim. */
  wake(): void
  /** Somebody cancels a job that it has claimed. */
  cancelled(lease: Lease): void
  /** The settings of a queue have changed. */
  settingsChanged(): void
}

/** Settings of a queue, with the bucket of its rate. */
interface QueueSettings extends QueueState {
  readonly bucket: TokenBucket | undefined
}

interface Schedule extends StoredSchedule {
  readonly nextAt: number | undefined
}

/** ms until it is seen at the latest that the wall clock was set, while something is due at a time. */
const LOOK = 5_000

const NO_SETTINGS: QueueSettings = { paused: false, rate: null, bucket: undefined }

/** What the memory stores of one name share: jobs, settings, schedules, sessions. It acts by itself when something is due, while it has users. */
export class MemoryDatabase {
  readonly jobs = new Transitions()
  readonly sessions = new Map<DatabaseSession, SessionInfo>()
  readonly #queues = new Map<string, QueueSettings>()
  /** By queue, then by key. */
  readonly #schedules = new Map<string, Map<string, Schedule>>()
  readonly #listeners = new Set<(event: StoreEvent) => void>()
  readonly #jumps = new JumpDetector()
  #timer: NodeJS.Timeout | undefined
  #users = 0
  readonly #onUnused: () => void

  /** `onUnused`: the last store that used it was closed. */
  constructor(onUnused = (): void => {}) {
    this.#onUnused = onUnused
    this.jobs.onCancel = (row) => {
      ;(row.session as DatabaseSession).cancelled({ seq: row.seq, token: row.token })
    }
  }

  use(): void {
    this.#users++
  }

  leave(): void {
    this.#users--
    if (this.#users > 0) return
    clearTimeout(this.#timer)
    this.#onUnused()
  }

  /** Runs one transaction: first what is due, then `change`. Its events are told after it. */
  run<T>(change: (now: number) => T): T {
    const now = Date.now()
    const jump = this.#jumps.jump(now, performance.now())
    if (jump !== 0) this.#jumped(jump)
    try {
      this.#sweep(now)
      return change(now)
    } finally {
      this.#told()
      this.#wakeAt(earliest(this.jobs.nextDue(this.#promotes), this.#nextTickAt()))
    }
  }

  /** Delays and intervals go on as if the wall clock had not been set. */
  #jumped(jump: number): void {
    this.jobs.shift += jump
    for (const ofQueue of this.#schedules.values()) {
      for (const [key, schedule] of ofQueue) {
        if (schedule.every !== undefined && schedule.nextAt !== undefined) ofQueue.set(key, { ...schedule, nextAt: schedule.nextAt + jump })
      }
    }
  }

  /** A session handles what users delayed, and schedules. */
  get #promotes(): boolean {
    return [...this.sessions.values()].some(({ schedulers }) => schedulers)
  }

  #sweep(now: number): void {
    this.jobs.sweep(now, this.#promotes)
    if (this.#promotes) this.#tick(now)
  }

  #wakeAt(at: number | undefined): void {
    clearTimeout(this.#timer)
    if (at === undefined || this.#users === 0) return
    // A store alone does not keep the process alive.
    this.#timer = setTimeout(() => this.run(() => {}), Math.min(Math.max(1, at - Date.now()), LOOK)).unref()
  }

  // ---- events

  watch(listener: (event: StoreEvent) => void): () => void {
    const added = (event: StoreEvent): void => listener(event)
    this.#listeners.add(added)
    return () => this.#listeners.delete(added)
  }

  /** Not in the call that caused them: its caller does not know its outcome yet. */
  #told(): void {
    const { table } = this.jobs
    const events = table.events
    if (events.length === 0) return
    table.events = []
    const waiting = new Set(events.filter(({ type }) => type === 'waiting' || type === 'retrying').map(({ queue }) => queue))
    setImmediate(() => {
      for (const event of events) for (const listener of this.#listeners) notify(listener, event)
    })
    if (waiting.size > 0) this.wake()
  }

  /** There may be something to claim. */
  wake(): void {
    for (const session of this.sessions.keys()) session.wake()
  }

  // ---- claims

  claim(session: DatabaseSession, queues: readonly string[], max: number): Claim {
    return this.run((now) => {
      const { name, schedulers } = this.sessions.get(session)!
      const jobs: Claim['jobs'][number][] = []
      let limitedUntil: number | undefined
      let open = [...new Set(queues)].filter((queue) => !this.settings(queue).paused)
      while (jobs.length < max && open.length > 0) {
        const first = open.flatMap((queue) => this.jobs.table.firstWaiting(queue) ?? [])
        const [row] = first.sort((a, b) => (a.priority === b.priority ? a.seq - b.seq : b.priority - a.priority))
        if (row === undefined) break
        const { bucket } = this.settings(row.queue)
        const wait = bucket?.wait(performance.now()) ?? 0
        if (wait > 0) {
          limitedUntil = earliest(limitedUntil, now + Math.ceil(wait))
          open = open.filter((queue) => queue !== row.queue)
        } else {
          bucket?.take(performance.now())
          this.jobs.claim(row, session, name)
          jobs.push(claimedJob(row))
        }
      }
      return { jobs, nextAt: earliest(limitedUntil, this.jobs.nextPromotion(schedulers)) }
    })
  }

  // ---- settings of queues

  settings(queue: string): QueueSettings {
    return this.#queues.get(queue) ?? NO_SETTINGS
  }

  /** Throws RangeError for a rate of another form. */
  set(queue: string, { paused, rate }: Partial<QueueState>): void {
    const before = this.settings(queue)
    const bucket = rate === undefined || rate === before.rate ? before.bucket : rate === null ? undefined : new TokenBucket(parseRate(rate))
    this.#queues.set(queue, { paused: paused ?? before.paused, rate: rate === undefined ? before.rate : rate, bucket })
    this.wake()
    for (const session of this.sessions.keys()) session.settingsChanged()
  }

  // ---- schedules

  schedule(queue: string, key: string, schedule: StoredSchedule | null, now: number): boolean {
    const ofQueue = this.#schedules.get(queue) ?? new Map<string, Schedule>()
    this.#schedules.set(queue, ofQueue)
    if (schedule === null) return ofQueue.delete(key)
    const before = ofQueue.get(key)
    const kept = before !== undefined && sameTiming(before, schedule) ? before.nextAt : undefined
    ofQueue.set(key, { ...schedule, nextAt: schedule.nextAt ?? kept ?? nextTick(schedule, now) })
    return true
  }

  schedules(queue: string): (Schedule & { readonly key: string })[] {
    return [...(this.#schedules.get(queue) ?? [])].map(([key, schedule]) => ({ ...schedule, key }))
  }

  #nextTickAt(): number | undefined {
    if (!this.#promotes) return undefined
    return earliest(...[...this.#schedules.values()].flatMap((ofQueue) => [...ofQueue.values()].map(({ nextAt }) => nextAt)))
  }

  #tick(now: number): void {
    for (const [queue, ofQueue] of this.#schedules) {
      for (const [key, schedule] of ofQueue) {
        if (schedule.nextAt === undefined || schedule.nextAt > now) continue
        const { ticks, nextAt } = readableTicks(`'${key}' of the queue '${queue}'`, schedule, schedule.nextAt, now)
        ofQueue.set(key, { ...schedule, nextAt })
        const isFree = (id: string): boolean => this.jobs.table.byId(queue, id) === undefined
        this.jobs.add(
          ticks.map((tick) => jobOfTick(queue, key, schedule, tick, isFree)),
          now,
        )
      }
    }
  }
}
