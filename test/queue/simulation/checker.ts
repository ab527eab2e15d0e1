/** Compares a store, after each commit, with what was asked of it; and each answer with what is stored. */

import { isEnded } from '../../../src/queue/store/ended-jobs.js'
import type { Operation } from '../../../src/queue/store/sqlite/protocol.js'
import { type AddedJob, type Claim, JOB_STATES, type JobState, type Lease, type StoreCondition } from '../../../src/queue/store/store.js'
import type { World } from '../../simulation/world.js'
import { checkCommit } from './commit-rules.js'
import type { Coverage } from './coverage.js'
import type { Answer, SimProcess } from './process.js'
import { NO_SNAPSHOT, type Snapshot, type SnapshotJob } from './snapshot.js'

type Ask<Op extends Operation['op']> = Extract<Operation, { op: Op }>

/** The last beat of a session that was stored. */
export interface LastBeat {
  readonly beat: number
  readonly at: number
  /** For how long its process had been stopped by then. */
  readonly stoppedFor: number
}

/** The limits of the queues let a job begin after this time, ms. */
const LIMIT_WAIT = 500

/** How steadily a process beats. */
export interface Steadiness {
  /** Since when it has beaten without a pause. */
  readonly since: number
  readonly last: number
  /** For how long it had been stopped by then. */
  readonly stoppedFor: number
  /** Since when it has, moreover, not been stopped. */
  readonly unstoppedSince: number
}

/** What a job may not do before, on the clock that nobody sets. */
export interface Delay {
  readonly until: number
  /** What small corrections had put the wall clock forward by, by then: they shorten delays. */
  readonly corrected: number
}

const leaseKey = (seq: number, token: number): string => `${seq} ${token}`

export class Checker {
  readonly coverage: Coverage
  readonly world: World
  readonly violations: string[] = []
  readonly processes = new Map<string, SimProcess>()
  snapshot: Snapshot = NO_SNAPSHOT
  /** Reads all that the store holds. */
  read: (before: Snapshot, sessionsOnly: boolean) => Snapshot = () => NO_SNAPSHOT
  /** Every job that was ever stored. */
  readonly everStored = new Map<number, string>()
  /** Claims that a settlement has ended: how. */
  readonly settledAs = new Map<string, string>()
  readonly beganAsked = new Set<string>()
  /** Jobs whose end was confirmed, and to which process. */
  readonly confirmedEnds = new Map<number, string>()
  /** A user has let it run again. */
  readonly retried = new Set<number>()
  readonly lastBeats = new Map<string, LastBeat>()
  readonly retryDelays = new Map<number, Delay>()
  /** Times of claims, by queue with a limit. */
  readonly starts = new Map<string, number[]>()
  /** When each queue that is paused was. */
  readonly pausedSince = new Map<string, number>()
  readonly ticks = new Set<string>()
  /** A job has the answers of those that it depended on: these may go. */
  copiesAnswers = false
  /** The wall clock. */
  wall: () => number = () => 0
  /** For how long the process of a claim had been stopped when it was asked for. */
  readonly #stoppedBefore = new WeakMap<Operation, number>()
  readonly #bulkIds: { readonly queue: string; readonly ids: readonly string[] }[] = []
  /** In the order of their ends, by queue and state. */
  readonly #ended = new Map<string, { readonly seq: number; readonly commit: number }[]>()
  /** What small corrections have put the wall clock forward by, ms. */
  corrected = 0
  /** What each job depended on when it was added. */
  readonly dependencies = new Map<number, readonly number[]>()
  /** Jobs that were seen completed, and that no user has removed: their answers are there for those that depend on them. */
  readonly storedAnswers = new Map<number, string>()
  /** When a job of each queue was claimed last. */
  readonly lastClaims = new Map<string, number>()
  readonly steady = new Map<SimProcess, Steadiness>()

  constructor(world: World, coverage: Coverage) {
    this.world = world
    this.coverage = coverage
  }

  /** What follows from the first violation is of no interest. */
  violate(text: string): void {
    if (this.violations.length > 0) return
    this.violations.push(text)
    this.world.trace(`VIOLATION: ${text}`)
    this.world.endTrace()
  }

  check(holds: boolean, text: () => string): void {
    if (!holds) this.violate(text())
  }

  ownerOf(session: string): SimProcess | undefined {
    return this.processes.get(session.slice(0, session.indexOf('.')))
  }

  /** A claim from a queue with a limit. */
  started(queue: string, rate: string | null, now: number): void {
    if (rate === null) {
      this.starts.delete(queue)
      return
    }
    const recent = [...(this.starts.get(queue) ?? []).filter((at) => at > now - 1_000), now]
    this.starts.set(queue, recent)
    const most = Number.parseInt(rate, 10) + 1
    this.check(recent.length <= most, () => `${recent.length} jobs of ${queue} began within a second; its limit is ${rate}`)
  }

  /** How many of its queue and state have ended in its transaction or after it, at most. */
  endedSince(job: SnapshotJob): number {
    const ended = this.#ended.get(`${job.queue} ${job.state}`) ?? []
    const own = ended.findLast(({ seq }) => seq === job.seq)
    return ended.filter(({ seq, commit }) => seq !== job.seq && commit >= (own?.commit ?? 0)).length
  }

  #countEnds(process: SimProcess | undefined, before: Snapshot, after: Snapshot): void {
    const { commits: commit } = this.coverage
    const add = (queue: string, state: JobState, seq: number): void => {
      const key = `${queue} ${state}`
      const ended = this.#ended.get(key)
      if (ended === undefined) this.#ended.set(key, [{ seq, commit }])
      else ended.push({ seq, commit })
    }
    for (const { seq, queue, state } of after.jobs.values()) if (isEnded(state) && before.jobs.get(seq)?.state !== state) add(queue, state, seq)
    const retries = process !== undefined && [...process.asked.values()].some(({ operation }) => operation.op === 'alter' && operation.change === 'retry')
    // How those have ended that are gone already, or that wait again, is not known.
    for (const { seq, queue, state } of before.jobs.values()) {
      const now = after.jobs.get(seq)?.state
      if (!isEnded(state) && (now === undefined || (retries && !isEnded(now)))) for (const each of JOB_STATES) if (isEnded(each)) add(queue, each, seq)
    }
  }

  // ---- what is asked

  asked(process: SimProcess, operation: Operation): void {
    if (operation.op === 'claim') this.#stoppedBefore.set(operation, process.stoppedFor)
    if (operation.op === 'began') this.beganAsked.add(leaseKey(operation.lease.seq, operation.lease.token))
    if (operation.op === 'add' && operation.jobs.length > 1) this.#bulkIds.push({ queue: operation.jobs[0]!.queue, ids: operation.jobs.map(({ id }) => id) })
    if (this.world.traceLines !== undefined) this.world.trace(`${process.name} asks ${describe(operation)}`)
  }

  /**
   * A job begins in a host that has not heard that its session `own` is lost. `giveBack`: how long its queue may have been paused; undefined: it was stopped.
   * `isStoredFirst`: it may have ended its nodes, so its beginning is stored before it.
   */
  begins(host: string, { seq, token }: Lease, own: string, giveBack: number | undefined, isStoredFirst: boolean): void {
    this.coverage.add('broker: a job begins')
    const row = this.snapshot.jobs.get(seq)
    const what = `${host} begins ${row?.id ?? 'a job that is gone'} (${seq}, token ${token})`
    const confirmedTo = this.retried.has(seq) ? undefined : this.confirmedEnds.get(seq)
    this.check(confirmedTo !== host, () => `${what} after its end was confirmed to it`)
    // A host that was stopped may not know yet that its session is dead: the job may have run, and ended, elsewhere.
    if (this.snapshot.sessions.get(own)?.dead !== false) return
    this.check(confirmedTo === undefined, () => `${what} after its end was confirmed`)
    this.check(row?.state === 'active' && row.token === token && row.session === own, () => `${what}, and its claim is over: ${JSON.stringify(row)}`)
    this.check(!isStoredFirst || row!.begun > 0, () => `${what}, which has been lost before, and its beginning is not stored`)
    const since = row === undefined ? undefined : this.pausedSince.get(row.queue)
    const isLate = giveBack !== undefined && since !== undefined && this.world.now - Math.max(since, this.quietUntil) > giveBack
    this.check(!isLate, () => `${what}, whose queue has been paused for ${this.world.now - since!} ms`)
  }

  /** A job that a host with room is to claim: that of a queue with a limit only if nobody has claimed from there for a while. */
  claimable(queues: readonly string[]): SnapshotJob | undefined {
    for (const row of this.snapshot.jobs.values()) {
      const settings = this.snapshot.queues.get(row.queue)
      if (row.state !== 'waiting' || !queues.includes(row.queue) || settings?.paused === true) continue
      const isLimited = (settings?.rate ?? null) !== null
      if (!isLimited || this.world.now - (this.lastClaims.get(row.queue) ?? 0) > LIMIT_WAIT) return row
    }
    return undefined
  }

  condition(process: SimProcess, condition: StoreCondition): void {
    this.world.trace(`${process.name} is told: ${condition}`)
    this.coverage.add(`condition: ${condition}`)
  }

  // ---- what is stored

  /** `process`: whose transaction it was; undefined: that of a timer. */
  committed(process: SimProcess | undefined, sessionsOnly = false): void {
    this.coverage.commits++
    if (this.violations.length > 0) return
    const before = this.snapshot
    const after = this.read(before, sessionsOnly)
    this.snapshot = after
    this.#countEnds(process, before, after)
    for (const [queue, { paused }] of after.queues) {
      if (!paused) this.pausedSince.delete(queue)
      else if (!this.pausedSince.has(queue)) this.pausedSince.set(queue, this.world.now)
    }
    checkCommit(this, process, before, after)
    this.#checkBulks(process, after)
    for (const { seq, id, state, dependsOn } of after.jobs.values()) {
      if (state === 'completed') this.storedAnswers.set(seq, id)
      if (!this.dependencies.has(seq) && dependsOn.length > 0) this.dependencies.set(seq, dependsOn)
      const known = this.everStored.get(seq)
      this.check(known === undefined || known === id, () => `the number ${seq} of the job ${known} was given to ${id}`)
      this.everStored.set(seq, id)
    }
  }

  /** All or none. */
  #checkBulks(process: SimProcess | undefined, after: Snapshot): void {
    if (this.#bulkIds.length === 0) return
    // What is removed, or ended and not kept, in the transaction that adds it is never seen.
    if (process !== undefined && [...process.asked.values()].some(({ operation: { op } }) => op === 'alter')) return
    const fresh = new Set([...after.jobs.values()].filter(({ seq }) => !this.everStored.has(seq)).map(({ queue, id }) => `${queue} ${id}`))
    if (fresh.size === 0) return
    for (const { queue, ids } of this.#bulkIds) {
      const stored = ids.filter((id) => fresh.has(`${queue} ${id}`)).length
      // Those that are kept for no time at all may be gone at once.
      const all = ids.length
      this.check(stored === 0 || stored === all, () => `${stored} of the ${all} jobs of one call were added: ${ids[0]} and so on`)
    }
  }

  // ---- what is answered

  answered(process: SimProcess, operation: Operation, answer: Answer): void {
    if (this.world.traceLines !== undefined) this.world.trace(`${process.name} gets for ${describe(operation)}: ${describeAnswer(operation, answer)}`)
    if (!('value' in answer)) this.#refused(operation, answer.failure.code)
    else if (operation.op === 'add') this.#added(operation, answer.value as readonly AddedJob[])
    else if (operation.op === 'claim') this.#claimed(process, operation, answer.value as Claim)
    else if (operation.op === 'settle') this.#settled(process, operation, answer.value as boolean)
  }

  #refused(operation: Operation, code: string | undefined): void {
    if (operation.op !== 'add') return
    const known = code === 'ERR_PREFORK_STORE_FULL' || code === 'ERR_PREFORK_STORE_CLOSED' || code === 'ERR_PREFORK_UNKNOWN_DEPENDENCY'
    this.check(known, () => `an add was refused with ${code}`)
    if (code !== 'ERR_PREFORK_UNKNOWN_DEPENDENCY') return
    this.check(
      operation.jobs.some(({ dependsOn }) => dependsOn.length > 0),
      () => `the add of ${operation.jobs[0]!.id} was refused for the dependency of another`,
    )
    if (operation.jobs.length > 1) this.coverage.add('a bulk was refused')
  }

  #added({ jobs }: Ask<'add'>, added: readonly AddedJob[]): void {
    this.check(jobs.length === added.length, () => `${added.length} answers to an add of ${jobs.length}`)
    added.forEach(({ seq, id, added: isNew }, index) => {
      if (!isNew) this.coverage.add('a job was there already')
      const stored = this.everStored.get(seq)
      const { options, expiresAt, dependsOn } = jobs[index]!
      // No snapshot shows a job that has ended in the transaction that adds it, and is not kept, as others have ended after it.
      const mayBeOver = options.keep !== undefined && (expiresAt !== undefined || dependsOn.length > 0)
      // The key of a job may outlive it.
      this.check(
        stored === id || (stored === undefined && isNew && mayBeOver),
        () => `the add of ${jobs[index]!.id} is confirmed as ${id} (${seq}), which was never stored`,
      )
    })
  }

  #claimed(process: SimProcess, claim: Ask<'claim'>, { jobs }: Claim): void {
    const { session, max, queues } = claim
    this.check(jobs.length <= max, () => `${jobs.length} jobs for a claim of ${max}`)
    for (const { seq, id, token, results } of jobs) {
      for (const before of this.dependencies.get(seq) ?? []) {
        const needed = this.storedAnswers.get(before)
        this.check(needed === undefined || results?.[needed] !== undefined, () => `${id} (${seq}) was given without the answer of ${needed}`)
      }
      const row = this.snapshot.jobs.get(seq)
      const isOwn = row?.state === 'active' && row.token === token && row.session?.startsWith(`${process.name}.`) === true
      this.check(isOwn, () => `${process.name} was given ${id} (${seq}, token ${token}), which it does not hold: ${JSON.stringify(row)}`)
      this.check(!this.confirmedEnds.has(seq) || this.retried.has(seq), () => `${id} (${seq}) is claimed after its end was confirmed`)
    }
    if (jobs.length === max || this.snapshot.sessions.size === 0) return
    // The process may have been stopped after the commit: what came to the store meanwhile is not in the answer.
    if (this.#stoppedBefore.get(claim) !== process.stoppedFor) return
    const isOwn = (name: string, id: number | undefined): boolean => name.startsWith(`${process.name}.`) && (id ?? session) === session
    const own = [...this.snapshot.sessions].find(([name, { id, dead }]) => isOwn(name, id) && !dead)
    if (process.isClosing || own === undefined || session === 0 || this.world.now < this.quietUntil) return
    for (const { queue, state, id } of this.snapshot.jobs.values()) {
      const settings = this.snapshot.queues.get(queue)
      if (state !== 'waiting' || !queues.includes(queue) || settings?.paused === true || (settings?.rate ?? null) !== null) continue
      this.violate(`${process.name} was given ${jobs.length} of ${max} jobs, and ${id} waits: a claim comes last in its batch`)
      return
    }
  }

  /** Claims may be answered with nothing until then: the file is locked, or full. */
  quietUntil = 0

  #settled(process: SimProcess, { lease, outcome }: Ask<'settle'>, accepted: boolean): void {
    const key = leaseKey(lease.seq, lease.token)
    const as = this.settledAs.get(key)
    if (accepted) {
      this.check(as !== undefined, () => `the settlement of ${key} as ${outcome.as} is confirmed, and was not stored`)
      if (this.#confirmed.has(key)) this.violate(`two settlements of ${key} are confirmed`)
      this.#confirmed.add(key)
      this.coverage.add(`settled: ${outcome.as}`)
      if (outcome.as !== 'retry' && outcome.as !== 'release') {
        this.check(!this.confirmedEnds.has(lease.seq) || this.retried.has(lease.seq), () => `the end of ${lease.seq} is confirmed twice`)
        this.confirmedEnds.set(lease.seq, process.name)
      }
      return
    }
    this.coverage.add('refused a settlement')
    const row = this.snapshot.jobs.get(lease.seq)
    const stands = row?.state === 'active' && row.token === lease.token && row.session !== undefined && this.snapshot.sessions.get(row.session)?.dead === false
    this.check(
      !stands || !row.session!.startsWith(`${process.name}.`) || this.world.now < this.quietUntil,
      () => `the settlement of ${key} is refused, and its claim stands`,
    )
  }

  readonly #confirmed = new Set<string>()
}

const describe = (operation: Operation): string => {
  if (operation.op === 'add') return `add ${operation.jobs.map(({ id, queue, task }) => `${queue}/${id}:${task}`).join(' ')}`
  if (operation.op === 'settle') return `settle ${operation.lease.seq} ${operation.lease.token} as ${operation.outcome.as}`
  if (operation.op === 'began') return `began ${operation.lease.seq} ${operation.lease.token}`
  const { op, ...rest } = operation
  return `${op} ${JSON.stringify(rest, (key, value) => (key === 'body' || key === 'value' ? undefined : value))}`
}

const describeAnswer = (operation: Operation, answer: Answer): string =>
  'value' in answer ? describeValue(operation, answer.value) : `fails: ${answer.failure.code} ${answer.failure.message.slice(0, 80)}`

const describeValue = ({ op }: Operation, value: unknown): string => {
  if (op === 'claim') return (value as Claim).jobs.map(({ seq, id, token }) => `${id} (${seq}, ${token})`).join(' ') || 'nothing'
  if (op === 'add') return (value as readonly AddedJob[]).map(({ seq, added }) => `${seq}${added ? '' : ' (was there)'}`).join(' ')
  return JSON.stringify(value) ?? ''
}
