/** Each tick of a schedule adds exactly one job. */
import type { Checker } from './checker.js'
import type { Batch } from './commit-rules.js'
import type { Snapshot } from './snapshot.js'

const OF_TICK = /^(tick \d+):(\d+)$/
const RANDOM = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** The id of a tick's job is its key and its time. Where a job has that id already it is a random one. */
export const isOfTick = (id: string): boolean => OF_TICK.test(id) || RANDOM.test(id)

/** With `catchUp: 'none'`, a tick that is later is missed, ms. */
const PUNCTUAL = 1_000

/** One transaction, as far as schedules go. */
export interface TickCommit {
  readonly batch: Batch
  readonly before: Snapshot
  readonly after: Snapshot
  /** The wall clock when it began. */
  readonly wall: number
}

class TickRules {
  readonly #checker: Checker
  readonly #commit: TickCommit
  /** By schedule: the times that are in the ids of jobs. */
  readonly #times = new Map<string, Set<number>>()
  /** By queue: how many jobs have a random id. */
  readonly #unnamed = new Map<string, number>()

  constructor(checker: Checker, commit: TickCommit) {
    this.#checker = checker
    this.#commit = commit
    for (const { seq, id, queue } of commit.after.jobs.values()) if (!commit.before.jobs.has(seq) && isOfTick(id)) this.#added(queue, id)
  }

  #added(queue: string, id: string): void {
    const [, key, at] = OF_TICK.exec(id) ?? []
    if (key === undefined) this.#unnamed.set(queue, (this.#unnamed.get(queue) ?? 0) + 1)
    // Whether it is the job of a user or of the tick is not seen.
    else if (this.#commit.batch.added(queue, id) === undefined) {
      const name = `${queue} ${key}`
      const times = this.#times.get(name) ?? new Set()
      this.#times.set(name, times.add(Number(at)))
      // Intervals go on where they were when the wall clock is set: it may show a time twice.
      const tick = `${name} ${Number(at) - this.#commit.after.shift}`
      this.#checker.check(!this.#checker.ticks.has(tick), () => `the tick ${id} of ${queue} has added a second job`)
      this.#checker.ticks.add(tick)
      this.#checker.coverage.add('ticks')
    }
  }

  check(): void {
    const { before } = this.#commit
    for (const name of new Set([...before.schedules.keys(), ...this.#times.keys()])) this.#checkSchedule(name)
    for (const [queue, count] of this.#unnamed) {
      this.#checker.check(count <= 0, () => `${count} jobs with random ids were added to ${queue}, and no tick whose id was taken was due`)
    }
  }

  #checkSchedule(name: string): void {
    const { batch, before, after, wall } = this.#commit
    const checker = this.#checker
    const [queue, key] = partsOf(name)
    const old = before.schedules.get(name)
    const times = this.#times.get(name) ?? new Set()
    if (old?.nextAt === undefined) {
      checker.check(times.size === 0, () => `${name} has added a job, and is no schedule`)
      return
    }
    const { every } = old
    const first = old.nextAt + after.shift - before.shift
    for (const at of times) {
      const isDue = at >= first && at <= wall && (at - first) % every === 0
      checker.check(isDue, () => `the schedule ${name} has added the job of ${at}; its ticks are each ${every} ms from ${first} on, and it is ${wall}`)
    }
    const now = after.schedules.get(name)
    // It may have been set before a tick that was due, or after it.
    if (batch.some('schedule', (asked) => asked.queue === queue && asked.key === key)) {
      this.#unnamed.delete(queue)
      return
    }
    checker.check(now !== undefined, () => `the schedule ${name} is gone, and nobody removed it`)
    if (now === undefined) return
    const steps = ((now.nextAt ?? Number.NaN) - first) / every
    checker.check(Number.isInteger(steps) && steps >= 0, () => `the next tick of ${name} went from ${first} to ${now.nextAt}; it comes each ${every} ms`)
    const due = this.#dueTicks(now.catchUp, first, steps, every)
    checker.check(
      [...times].every((at) => due.includes(at)),
      () => `the schedule ${name} (${now.catchUp}) went on by ${steps} ticks, and added the jobs of ${[...times]} instead of ${due}`,
    )
    for (const at of due) this.#checkJob(queue, `${key}:${at}`, times.has(at))
  }

  /** The ticks that are to have added a job. */
  #dueTicks(catchUp: string, first: number, steps: number, every: number): number[] {
    const ticks = Array.from({ length: steps }, (_, step) => first + step * every)
    if (catchUp === 'all') return ticks
    const last = ticks.slice(-1)
    return catchUp === 'none' && last.length > 0 && this.#commit.wall - last[0]! > PUNCTUAL ? [] : last
  }

  /** `isSeen`: its job has the id that says which tick it was. */
  #checkJob(queue: string, id: string, isSeen: boolean): void {
    const { batch, before } = this.#commit
    if (isSeen) return
    const isAsked = batch.added(queue, id) !== undefined
    const isTaken = isAsked || [...before.jobs.values()].some((job) => job.queue === queue && job.id === id)
    const unnamed = this.#unnamed.get(queue) ?? 0
    if (isTaken && unnamed > 0) {
      this.#unnamed.set(queue, unnamed - 1)
      this.#checker.coverage.add('a tick whose id was taken')
    }
    // A user may remove it at once.
    else this.#checker.check(isAsked || batch.some('alter'), () => `the tick ${id} of ${queue} is over, and has added no job`)
  }
}

/** Of the name of a schedule in a snapshot: its queue and its key. */
const partsOf = (name: string): [string, string] => {
  const space = name.indexOf(' ')
  return [name.slice(0, space), name.slice(space + 1)]
}

export const checkTicks = (checker: Checker, commit: TickCommit): void => new TickRules(checker, commit).check()
