/** What one transaction may change, and what holds after each. */
import { isEnded, retentionOf } from '../../../src/queue/store/ended-jobs.js'
import type { Operation } from '../../../src/queue/store/sqlite/protocol.js'
import type { JobChange, NewJob, Outcome } from '../../../src/queue/store/store.js'
import { MAX_HISTORY } from '../../../src/runtime/message/serialized-error.js'
import type { Checker } from './checker.js'
import { LEASE } from './file-process.js'
import type { SimProcess } from './process.js'
import { lostRuns, type Snapshot, type SnapshotJob } from './snapshot.js'
import { checkTicks, isOfTick } from './tick-rules.js'

/** What the transaction may contain: what its process has asked for, and has no answer to. */
export class Batch {
  readonly operations: readonly Operation[]

  constructor(process: SimProcess | undefined) {
    this.operations = process === undefined ? [] : [...process.asked.values()].map(({ operation }) => operation)
  }

  some<Op extends Operation['op']>(op: Op, holds: (operation: Extract<Operation, { op: Op }>) => boolean = () => true): boolean {
    return this.operations.some((operation) => operation.op === op && holds(operation as Extract<Operation, { op: Op }>))
  }

  alters({ id, queue, seq }: SnapshotJob, ...changes: readonly JobChange[]): boolean {
    return this.some(
      'alter',
      ({ selector, change }) =>
        changes.includes(change) &&
        (selector.ids === undefined || selector.ids.includes(id)) &&
        (selector.queue === undefined || selector.queue === queue) &&
        (selector.seq === undefined || selector.seq === seq),
    )
  }

  settlement(seq: number, token: number): Extract<Operation, { op: 'settle' }>['outcome'] | undefined {
    for (const operation of this.operations) {
      if (operation.op === 'settle' && operation.lease.seq === seq && operation.lease.token === token) return operation.outcome
    }
    return undefined
  }

  added(queue: string, id: string): NewJob | undefined {
    for (const operation of this.operations) {
      const job = operation.op === 'add' ? operation.jobs.find((each) => each.id === id && each.queue === queue) : undefined
      if (job !== undefined) return job
    }
    return undefined
  }
}

export const checkCommit = (checker: Checker, process: SimProcess | undefined, before: Snapshot, after: Snapshot): void => {
  const batch = new Batch(process)
  checkSessions(checker, process, before, after)
  for (const [name, { rate }] of after.queues) if (before.queues.get(name)?.rate !== rate) checker.starts.delete(name)
  for (const row of after.jobs.values()) {
    const old = before.jobs.get(row.seq)
    if (old === undefined) checker.coverage.add(`new → ${row.state}`)
    else if (old.state !== row.state) checker.coverage.add(`${old.state} → ${row.state}`)
    new JobRules(checker, process, batch, before, after, old, row).check()
  }
  checkState(checker, after)
  for (const old of before.jobs.values()) if (!after.jobs.has(old.seq)) checkRemoval(checker, process, batch, before, after, old)
  checkTicks(checker, { batch, before, after, wall: process?.transactionWall ?? checker.wall() })
  if (after.shift !== before.shift) checker.coverage.add('the clock moved delays')
}

// ---- what holds after each transaction

const checkState = (checker: Checker, { jobs, counts, sessions }: Snapshot): void => {
  const found: Record<string, Record<string, number>> = {}
  const keys = new Map<string, string>()
  for (const row of jobs.values()) {
    found[row.queue] ??= {}
    found[row.queue]![row.state] = (found[row.queue]![row.state] ?? 0) + 1
    const isHeld = row.session !== undefined && sessions.has(row.session)
    if (row.state === 'active' && !isHeld) checker.violate(`${row.id} is active in the session ${row.session}`)
    if (row.lostRuns < row.losses) checker.violate(`${row.id} has lost ${row.losses} runs, and its history has ${row.lostRuns} of them`)
    if (row.state !== 'active' && row.session !== undefined) checker.violate(`${row.id} is ${row.state}, and held by ${row.session}`)
    const unfinished = row.dependsOn.filter((seq) => jobs.has(seq) && !isEnded(jobs.get(seq)!.state))
    if (row.state === 'blocked') {
      if (row.pending !== unfinished.length || row.pending === 0)
        checker.violate(`${row.id} is blocked and waits on ${row.pending}; ${unfinished.length} that it depends on have not ended`)
    } else if (!isEnded(row.state) && unfinished.some((seq) => !checker.retried.has(seq)) && !checker.retried.has(row.seq))
      checker.violate(`${row.id} is ${row.state}, and ${unfinished.length} that it depends on have not ended`)
    if (row.dedup === undefined || isEnded(row.state)) continue
    const key = `${row.queue} ${row.dedup}`
    if (keys.has(key)) checker.violate(`${row.id} and ${keys.get(key)} have one key: ${row.dedup}`)
    keys.set(key, row.id)
  }
  for (const queue of new Set([...Object.keys(found), ...Object.keys(counts)])) {
    for (const state of new Set([...Object.keys(found[queue] ?? {}), ...Object.keys(counts[queue] ?? {})])) {
      const counted = (counts[queue] as Record<string, number> | undefined)?.[state] ?? 0
      const real = found[queue]?.[state] ?? 0
      if (counted !== real) checker.violate(`the counter of ${queue} says ${counted} ${state}; there are ${real}`)
    }
  }
}

// ---- sessions

/** A session that was stopped for less is not taken for dead, ms: beats come each second, and some of the time the file may be locked. */
const MIN_STOPPED = LEASE - 4_000

const checkSessions = (checker: Checker, process: SimProcess | undefined, before: Snapshot, after: Snapshot): void => {
  const { lastBeats, world } = checker
  for (const [name, { beat, dead }] of after.sessions) {
    const owner = checker.ownerOf(name)!
    const hasBeaten = lastBeats.get(name)?.beat !== beat
    if (hasBeaten && owner === process && lastBeats.has(name)) checkSearch(checker, process, after)
    if (hasBeaten) lastBeats.set(name, { beat, at: world.now, stoppedFor: owner.stoppedFor })
    if (dead && before.sessions.get(name)?.dead === false) checkDeath(checker, process, name, owner)
  }
  for (const [name, { dead }] of before.sessions) {
    if (!after.sessions.has(name) && !dead) checkDeath(checker, process, name, checker.ownerOf(name)!)
  }
}

/** Beats of a process that are further apart are no proof that it could look for dead sessions, ms. */
const MAX_PAUSE = 2_500
/** How long a session may stand still before one that looks for dead sessions has swept it, ms. */
const MAX_STILL = LEASE + 4_000

/** How long after the death of a process that had a socket one that beats has swept its sessions, ms: less than a lease, after which its beat would show it. */
const MAX_UNNOTICED = 3_000

/** `process` has beaten. What has stood still for long, while it could look for that all the time, must be gone. */
const checkSearch = (checker: Checker, process: SimProcess, { sessions }: Snapshot): void => {
  const { lastBeats, steady, world } = checker
  const seen = steady.get(process)
  const { stoppedFor } = process
  const since = seen !== undefined && world.now - seen.last <= MAX_PAUSE ? seen.since : world.now
  const unstoppedSince = seen !== undefined && since === seen.since && seen.stoppedFor === stoppedFor ? seen.unstoppedSince : world.now
  steady.set(process, { since, last: world.now, stoppedFor, unstoppedSince })
  for (const [name, { dead }] of sessions) {
    const owner = checker.ownerOf(name)!
    if (dead || owner === process) continue
    const stillFor = world.now - Math.max(since, lastBeats.get(name)?.at ?? world.now, checker.quietUntil)
    if (stillFor > MAX_STILL) checker.violate(`the session ${name} has stood still for ${stillFor.toFixed(0)} ms, and ${process.name} has not swept it`)
    // It had a socket: that refuses whoever connects, which each process does at each beat.
    if (owner.alive || !owner.listens) continue
    const deadFor = world.now - Math.max(unstoppedSince, owner.diedAt, checker.quietUntil)
    if (deadFor > MAX_UNNOTICED)
      checker.violate(`the process of ${name} has been dead for ${deadFor.toFixed(0)} ms and its socket refuses, and ${process.name} has not swept it`)
  }
}

const checkDeath = (checker: Checker, process: SimProcess | undefined, name: string, owner: SimProcess): void => {
  if (owner === process) {
    checker.check(!owner.alive || owner.isClosing, () => `${owner.name} has ended its session ${name}, and nobody asked for it`)
    return
  }
  const last = checker.lastBeats.get(name)
  const stillFor = checker.world.now - (last?.at ?? checker.world.now)
  if (!owner.alive) {
    checker.coverage.add(stillFor < LEASE ? 'a dead process was found by its socket' : 'a dead process was found by its beat')
    return
  }
  const stoppedFor = owner.stoppedFor - (last?.stoppedFor ?? owner.stoppedFor)
  checker.check(
    stillFor >= LEASE - 1 && stoppedFor >= MIN_STOPPED,
    () =>
      `${name} was taken for dead by ${process?.name}: its process lives, has beaten ${stillFor.toFixed(0)} ms ago, and was stopped for ${stoppedFor.toFixed(0)}`,
  )
  checker.coverage.add('a live session was taken for dead')
}

// ---- one job

class JobRules {
  readonly #checker: Checker
  readonly #process: SimProcess | undefined
  readonly #batch: Batch
  readonly #before: Snapshot
  readonly #after: Snapshot
  readonly #old: SnapshotJob | undefined
  readonly #row: SnapshotJob

  constructor(
    checker: Checker,
    process: SimProcess | undefined,
    batch: Batch,
    before: Snapshot,
    after: Snapshot,
    old: SnapshotJob | undefined,
    row: SnapshotJob,
  ) {
    this.#checker = checker
    this.#process = process
    this.#batch = batch
    this.#before = before
    this.#after = after
    this.#old = old
    this.#row = row
  }

  check(): void {
    const old = this.#old
    const row = this.#row
    if (old !== undefined) {
      this.#must(row.lostRuns >= old.lostRuns, () => `its history had ${old.lostRuns} lost runs, and has ${row.lostRuns}`)
      this.#must(row.token >= old.token && row.token <= old.token + 1, () => `its token went from ${old.token} to ${row.token}`)
      if (old.state === 'active' && (row.state !== 'active' || row.token > old.token)) this.#claimEnded(old)
      if ((isEnded(old.state) && !isEnded(row.state)) || this.#endedMeanwhile(row)) this.#again(old)
      if (old.state === 'completed') this.#must(row.state === 'completed', () => 'it was completed')
      const wasCancelled = old.state === 'active' && old.cancel && !isEnded(row.state) && (row.state !== 'active' || row.token > old.token)
      this.#must(!wasCancelled || this.#batch.alters(old, 'retry'), () => `it was to be cancelled and is ${row.state}`)
      const leftWait = old.state === 'delayed' && (row.state === 'waiting' || row.state === 'active')
      if (leftWait) this.#due(old)
      if (old.state === 'blocked' && (row.state === 'waiting' || row.state === 'delayed' || row.state === 'active')) {
        const dependencies = old.dependsOn.flatMap((seq) => this.#after.jobs.get(seq) ?? [])
        const unfinished = dependencies.filter((each) => !isEnded(each.state) && !this.#endedMeanwhile(each))
        this.#must(unfinished.length === 0, () => `it was released, and ${unfinished.length} that it depends on have not ended`)
      }
    } else if (!isOfTick(row.id)) {
      const job = this.#batch.added(row.queue, row.id)
      this.#must(job !== undefined, () => 'nobody asked to add it')
    }
    if (row.state === 'active' && row.token > (old?.token ?? 0)) this.#claimed(old)
    if (isEnded(row.state) && old?.state !== row.state) this.#ended(old)
  }

  #must(holds: boolean, text: () => string): void {
    if (!holds) this.#checker.violate(`${this.#row.id} (${this.#row.seq}, ${this.#old?.state ?? 'new'} → ${this.#row.state}): ${text()}`)
  }

  /** By its settlement, or with its session. */
  #claimEnded(old: SnapshotJob): void {
    const row = this.#row
    const outcome = this.#batch.settlement(old.seq, old.token)
    const isOwner = this.#process === undefined || this.#checker.ownerOf(old.session!) === this.#process
    const session = this.#after.sessions.get(old.session!)
    // A session that closes may give back what was about to be settled.
    const isClosed = isOwner && session?.dead !== false && row.state !== outcome?.as && this.#checker.ownerOf(old.session!)?.isClosing === true
    if (outcome !== undefined && isOwner && !isClosed) {
      this.#checker.settledAs.set(`${old.seq} ${old.token}`, outcome.as)
      this.#lostRunsKept(outcome)
      const again = outcome.as === 'retry' || outcome.as === 'release'
      if (row.state === 'active') this.#must(again, () => `it was settled as ${outcome.as} and is claimed again`)
      else if (again) this.#must(!isEnded(row.state) || row.state === 'cancelled' || row.state === 'expired', () => `it was settled as ${outcome.as}`)
      else this.#must(row.state === (old.cancel ? 'cancelled' : outcome.as) || this.#batch.alters(old, 'retry'), () => `it was settled as ${outcome.as}`)
      if (outcome.as === 'retry' && row.state === 'delayed')
        this.#checker.retryDelays.set(row.seq, {
          until: (this.#process?.transactionAt ?? this.#checker.world.now) + outcome.delay,
          corrected: this.#checker.corrected,
        })
      return
    }
    this.#must(session === undefined || session.dead, () => `its claim by ${old.session} ended with no settlement, and the session lives`)
    if (row.state !== 'waiting' || (isOwner && this.#process?.alive === true)) return
    const losses = row.losses - old.losses
    const requeues = row.requeues - old.requeues
    this.#checker.coverage.add(`a session died: ${old.begun > 0 ? 'begun' : 'not begun'}`)
    this.#must(losses === old.begun && requeues === (old.begun > 0 ? 0 : 1), () => `begun: ${old.begun}, and ${losses} losses and ${requeues} requeues more`)
    const asked = this.#checker.beganAsked.has(`${old.seq} ${old.token}`)
    this.#must(losses === 0 || asked, () => 'a loss is counted, and it had not begun')
    const added = row.lostRuns - old.lostRuns
    this.#must(added === (old.begun > 0 ? 1 : 0) || row.lostRuns === MAX_HISTORY, () => `begun: ${old.begun}, and ${added} lost runs more in its history`)
  }

  /** What a settlement says of lost runs is stored, also with a job that succeeds. A user who retries it in the same transaction resets the count. */
  #lostRunsKept(outcome: Outcome): void {
    const row = this.#row
    const record = outcome.as === 'completed' ? outcome.record : outcome.as === 'release' ? undefined : outcome
    if (record === undefined) return
    if (outcome.as === 'completed') this.#checker.coverage.add('completed after a lost run')
    const lost = lostRuns(record.history)
    this.#must(row.lostRuns === lost, () => `its settlement has ${lost} lost runs in its history, and ${row.lostRuns} are stored`)
    const isReset = this.#batch.alters(row, 'retry')
    this.#must(row.losses === record.counts.losses || isReset, () => `its settlement counts ${record.counts.losses} losses, and ${row.losses} are stored`)
  }

  /** One commit may bring the end of a job and its retry: it is not ended before, nor after. A retry alone clears the time of expiry. */
  #endedMeanwhile(row: SnapshotJob): boolean {
    const old = this.#before.jobs.get(row.seq)
    if (old === undefined || isEnded(old.state) || isEnded(row.state) || !this.#batch.alters(old, 'retry')) return false
    return (old.expiresAt !== undefined && row.expiresAt === undefined) || this.#batch.alters(old, 'cancel')
  }

  /** A user lets it run again. */
  #again(old: SnapshotJob): void {
    this.#must(this.#batch.alters(old, 'retry'), () => 'nobody asked to retry it')
    this.#checker.retried.add(old.seq)
  }

  /** The time that counts is that of the beginning: the disk may have been slow. */
  #wallOfTransaction(): number {
    return this.#process?.transactionWall ?? this.#checker.wall()
  }

  #due(old: SnapshotJob): void {
    if (this.#batch.alters(old, 'promote')) return
    const wall = this.#process?.wall() ?? this.#checker.wall()
    // The time that counts is that of the beginning of the transaction, which waits for the disk afterwards.
    const due = old.dueAt === undefined ? 0 : old.dueAt + this.#after.shift - this.#before.shift
    const dueUnmoved = old.dueAt ?? 0
    this.#must(Math.min(due, dueUnmoved) <= wall, () => `it is due in ${due - wall} ms`)
    const delay = this.#checker.retryDelays.get(old.seq)
    const early = 2 + this.#checker.corrected - (delay?.corrected ?? 0)
    this.#must(delay === undefined || this.#checker.world.now >= delay.until - early, () => `its retry is due in ${delay!.until - this.#checker.world.now} ms`)
    this.#checker.retryDelays.delete(old.seq)
  }

  #claimed(old: SnapshotJob | undefined): void {
    const row = this.#row
    const owner = this.#checker.ownerOf(row.session!)
    this.#must(owner === this.#process, () => `it is claimed for ${row.session} by ${this.#process?.name}`)
    this.#must(
      this.#batch.some('claim', ({ queues }) => queues.includes(row.queue)),
      () => `nobody claims from ${row.queue}`,
    )
    this.#must(this.#after.sessions.get(row.session!)?.dead !== true, () => `it is claimed by the dead session ${row.session}`)
    const isPaused = this.#before.queues.get(row.queue)?.paused === true && this.#after.queues.get(row.queue)?.paused === true
    this.#must(!isPaused, () => 'its queue is paused')
    this.#must(row.expiresAt === undefined || row.expiresAt > this.#wallOfTransaction(), () => 'it had expired')
    this.#must(row.begun === 0, () => 'it is claimed, and has begun already')
    this.#checker.coverage.add(old === undefined ? 'claimed at once' : 'claimed')
    this.#checker.lastClaims.set(row.queue, this.#checker.world.now)
    this.#checker.started(row.queue, this.#before.queues.get(row.queue)?.rate ?? null, this.#process?.transactionAt ?? this.#checker.world.now)
  }

  #ended(old: SnapshotJob | undefined): void {
    const row = this.#row
    const settled = this.#batch.some('settle', ({ lease, outcome }) => lease.seq === row.seq && outcome.as === row.state)
    if (row.state === 'completed') this.#must(settled && old?.state === 'active', () => 'nobody completed it')
    else if (row.state === 'expired')
      this.#must(settled || (row.expiresAt ?? Number.POSITIVE_INFINITY) <= (this.#process?.wall() ?? this.#checker.wall()), () => 'its time is not over')
    else if (row.state === 'cancelled') this.#must(settled || old?.cancel === true || this.#batch.alters(row, 'cancel', 'remove'), () => 'nobody cancelled it')
    else if (!settled) {
      // One that was removed has failed.
      const failed = [...row.dependsOn, ...(old?.dependsOn ?? [])].some((seq) => this.#after.jobs.get(seq)?.state !== 'completed')
      this.#must(failed && !row.tolerant, () => 'nothing that it depends on has failed')
    }
  }
}

// ---- removals

const checkRemoval = (checker: Checker, process: SimProcess | undefined, batch: Batch, before: Snapshot, after: Snapshot, old: SnapshotJob): void => {
  const what = `${old.seq} of ${old.queue}: ${old.id}, ${old.state},`
  checker.coverage.add(`${old.state} → gone`)
  // Of jobs that end together, those that are kept until few others have ended are gone at once.
  const outcome = old.state === 'active' ? batch.settlement(old.seq, old.token) : undefined
  if (outcome !== undefined) checker.settledAs.set(`${old.seq} ${old.token}`, outcome.as)
  if (batch.alters(old, 'remove') && old.state !== 'active') {
    checker.storedAnswers.delete(old.seq)
    return
  }
  const keepsFew = (['completed', 'failed'] as const).some((kind) => old.options.keep?.[kind]?.count !== undefined)
  if (!isEnded(old.state)) {
    checker.check(keepsFew, () => `${what} is gone, and had not ended`)
    return
  }
  const { age, count } = retentionOf(old.options, old.state)
  const wall = process?.wall() ?? checker.wall()
  const alike = [...after.jobs.values()].filter(
    ({ queue, state, endedAt }) => queue === old.queue && state === old.state && (endedAt ?? 0) >= (old.endedAt ?? 0),
  )
  // What is removed before it has ended ends first, and counts.
  const isOver =
    old.endedAt! + age <= wall || alike.length >= count || checker.endedSince(old) >= count || batch.some('alter', ({ change }) => change === 'remove')
  checker.check(
    isOver,
    () => `${what} is gone before its time, ${age} ms or ${count} others: it ended ${wall - old.endedAt!} ms ago, ${checker.endedSince(old)} others since`,
  )
  // The transaction may have forgotten the dependency with the job.
  const isUnfinished = (job: SnapshotJob | undefined): boolean => job !== undefined && !isEnded(job.state)
  const needed = [...before.jobs.values()].find((job) => isUnfinished(job) && isUnfinished(after.jobs.get(job.seq)) && job.dependsOn.includes(old.seq))
  checker.check(needed === undefined || checker.copiesAnswers, () => `${what} is gone, and ${needed!.id} needs its answer`)
}
