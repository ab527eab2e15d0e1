import { BoundedMap } from '../collections/bounded-map.js'
import { UNCOUNTED_RETURNS } from '../retry-policy.js'
import { type QueueClock, systemClock } from './rate-limits.js'

/**
 * ms without a delivery until one job is chosen: that which came back most often is known. Messages on their way to a consumer that RabbitMQ
 * cancels come back, too.
 */
const GATHER = 50
/** ms that the node takes one job at a time after a job was alone: what holds the only place must not keep others out for longer. */
const NARROW = 100
/** ms between two looks whether the chosen job is alone. Two in a row must find that: the last settlements are on their way to the broker. */
const INTERVAL = 10
/** ms, at most: until the broker stops to deliver, until the other jobs have ended, until the job begins, and that it is alone. */
const MAX_WAIT = 30_000
/** ms, at most, for settlements once the other jobs have ended: a broker that takes none for hours is no reason to wait. */
const SETTLE_WAIT = 1_000

/** How much may be delivered: 'one' unsettled job of each queue at a time. */
export type Intake = 'all' | 'one' | 'none'

/** The part of a job that its isolation reads. */
export interface ReturnedJob {
  /** Times that its message came back for a reason that this node does not know. */
  readonly returned: number
}

export interface IsolationActions<Job> {
  /** Whether no other job is here at all. */
  isOnlyJob(job: Job): boolean
  /** Whether there is another job in the pool. */
  othersRun(job: Job): boolean
  /** Whether a settlement is in progress. */
  settling(): boolean
  /** Takes it through admission again: it may begin now. */
  begin(job: Job): void
  giveBack(job: Job): void
  /** It could not be alone here: gives it back so that it comes again later, as suspicious as it is. */
  postpone(job: Job): void
  /** Gives it back unless it begins at this moment. */
  withdraw(job: Job): void
  /** Gives everything back that has not begun, besides this job: also what waits here. */
  giveBackOthers(job: Job): void
  /** Resolves when that is so: 'none' as nothing may begin, and 'one' because such jobs seldom come alone. What is not delivered need not be given back. */
  intake(intake: Intake): Promise<void>
}

/**
 * Runs a job alone whose message came back again and again: it may be what ended its node. The node takes nothing meanwhile and gives back
 * what it has not begun, so that its death counts for this job and no other. All waits are bounded: it may as well be a long job that a broker
 * returned twice, and must not keep its node from work for hours. A job that cannot be alone does not begin: its death would count for the others.
 */
export class Isolation<Job extends ReturnedJob> {
  readonly #actions: IsolationActions<Job>
  readonly #clock: QueueClock
  /** Returns that this node has seen itself, as the delivery was gone while the node lived. By key. */
  readonly #explained: BoundedMap<number>
  /** 'gathering' (nothing begins) → 'clearing' (one is chosen, the others are given back or end) → 'beginning' (it may begin) → 'alone' (it runs). */
  #phase: 'idle' | 'gathering' | 'clearing' | 'beginning' | 'alone' = 'idle'
  /** Jobs that wait until one is chosen, in their order. */
  readonly #gathered = new Set<Job>()
  /** The broker was told to deliver nothing more. */
  #stopping = false
  /** Idle, and the broker was told to deliver one job at a time. */
  #narrow = false
  #isolated: Job | undefined
  /** Isolations so far: what one has asked for may come in the next. */
  #round = 0
  #cancelTimer: (() => void) | undefined

  /** `memory`: keys of explained returns. */
  constructor(actions: IsolationActions<Job>, memory: number, clock: QueueClock = systemClock) {
    this.#actions = actions
    this.#clock = clock
    this.#explained = new BoundedMap(memory)
  }

  /** So many deliveries of this key are gone while the node lives: that its message comes back says nothing about the job. */
  explain(key: string, deliveries: number): void {
    if (deliveries > 0) this.#explained.set(key, (this.#explained.get(key) ?? 0) + deliveries)
  }

  /** How often a message came back for a reason that this node does not know. */
  unexplained(key: string, returned: number): number {
    return returned === 0 ? 0 : Math.max(0, returned - (this.#explained.get(key) ?? 0))
  }

  /** True: another job is alone, or will be, so that this one is certainly not admitted now. */
  refuses(job: Job): boolean {
    if (this.#phase === 'idle') return false
    return this.#phase === 'gathering' ? job.returned < UNCOUNTED_RETURNS : job !== this.#isolated
  }

  /** True: the job may begin now. Otherwise it waits, or is given back because another one is alone. */
  admit(job: Job): boolean {
    if (this.#phase === 'idle') {
      if (job.returned < UNCOUNTED_RETURNS) return true
      this.#phase = 'gathering'
    }
    if (this.#phase === 'gathering') this.#gather(job)
    else if (job === this.#isolated) return this.#phase !== 'clearing'
    else this.#actions.giveBack(job)
    return false
  }

  #gather(job: Job): void {
    this.#gathered.add(job)
    if (this.#narrow) this.#stopDeliveries(this.#actions.isOnlyJob(job))
    else if (!this.#stopping) this.#wakeIn(GATHER, () => this.#stopDeliveries())
  }

  #widen(): void {
    this.#narrow = false
    this.#actions.intake('all').catch(() => {})
  }

  /** The job runs. Only from now on it is alone: it may have waited for a worker. */
  began(job: Job): void {
    if (this.#phase !== 'beginning' || job !== this.#isolated) return
    this.#phase = 'alone'
    this.#wakeIn(MAX_WAIT, () => this.#end())
  }

  /** The job is over, or is not here any more. */
  leave(job: Job): void {
    if (this.#phase === 'idle') return
    if (job === this.#isolated) this.#end(this.#phase === 'alone')
    else if (this.#gathered.delete(job) && this.#gathered.size === 0) this.#end()
  }

  /** `onlyJob`: nothing else is here. */
  #stopDeliveries(onlyJob = false): void {
    this.#stopping = true
    this.#narrow = false
    const round = this.#round
    const choose = (isAlone: boolean): void => {
      if (this.#phase === 'gathering' && this.#round === round) this.#choose(isAlone)
    }
    this.#wakeIn(MAX_WAIT, () => choose(false))
    this.#actions.intake('none').then(
      () => choose(onlyJob),
      () => choose(false),
    )
  }

  /** `isAlone`: the broker has stopped to deliver, and has the settlements of all that was here before. */
  #choose(isAlone: boolean): void {
    let chosen: Job | undefined
    for (const each of this.#gathered) if (chosen === undefined || each.returned > chosen.returned) chosen = each
    if (chosen === undefined || chosen.returned < UNCOUNTED_RETURNS) {
      this.#end()
      return
    }
    this.#phase = 'clearing'
    this.#isolated = chosen
    this.#gathered.clear()
    this.#actions.giveBackOthers(chosen)
    if (isAlone && this.#actions.isOnlyJob(chosen) && !this.#actions.settling()) this.#begin(chosen)
    else this.#awaitOthers(chosen, this.#clock.now() + MAX_WAIT)
  }

  /** `ended`: when the other jobs were first found to have ended. `found`: so often in a row nothing was found to wait for. */
  #awaitOthers(job: Job, until: number, ended?: number, found = 0): void {
    this.#wakeIn(INTERVAL, () => {
      const now = this.#clock.now()
      if (!this.#actions.othersRun(job)) this.#awaitSettlements(job, until, ended ?? now, found)
      else if (now < until) this.#awaitOthers(job, until)
      else {
        this.#end()
        this.#actions.postpone(job)
      }
    })
  }

  #awaitSettlements(job: Job, until: number, ended: number, found: number): void {
    if (this.#actions.settling() && this.#clock.now() < ended + SETTLE_WAIT) this.#awaitOthers(job, until, ended)
    else if (found === 0) this.#awaitOthers(job, until, ended, 1)
    else this.#begin(job)
  }

  #begin(job: Job): void {
    this.#phase = 'beginning'
    this.#wakeIn(MAX_WAIT, () => this.#actions.withdraw(job))
    this.#actions.begin(job)
  }

  /** `narrow`: the next may be such a job, too. */
  #end(narrow = false): void {
    const waiting = [...this.#gathered]
    this.#gathered.clear()
    this.#isolated = undefined
    this.#stopping = false
    this.#round++
    this.#phase = 'idle'
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#narrow = narrow
    if (narrow) this.#wakeIn(NARROW, () => this.#widen())
    this.#actions.intake(narrow ? 'one' : 'all').catch(() => {})
    for (const job of waiting) this.#actions.begin(job)
  }

  #wakeIn(ms: number, wake: () => void): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(ms, wake)
  }
}
