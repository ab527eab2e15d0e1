import type { Consumption } from '../../node/broker.js'
import type { Delivery } from '../../runtime/delivery.js'
import { UndecodableError } from '../../runtime/errors.js'
import { MAX_TIMER } from '../../util/limits.js'
import { clearTimeout, setImmediate, setTimeout } from '../../util/node-time.js'
import { CANCELLED } from '../store/ended-jobs.js'
import type { ClaimedJob, Lease, StoreSession } from '../store/store.js'
import { undecodable } from './outcome.js'

/** ms until the next claim when one was refused. */
const REFUSED_WAIT = 500

/** What `Claims` asks of the broker. */
export interface ClaimActions {
  /** A delivery of the job. `claim` counts until it is settled, or gone and ended. */
  deliver(job: ClaimedJob, session: StoreSession, claim: HeldClaim): Delivery
  /** Ends a job that runs because somebody cancels it. */
  cancel(key: string): void
  refused(error: unknown): void
}

/** One claimed job while it takes up room. */
export interface HeldClaim {
  /** Its settlement is on its way: the store carries it out before a claim that follows, so its room is free for that. */
  settling(): void
  /** The settlement was refused: the job is still held. */
  notSettled(): void
  /** It is settled, or gone and ended. */
  over(): void
}

/** A key that is held. Its room is free as soon as its settlement is on its way, and held again when that is refused. */
class HeldKey implements HeldClaim {
  readonly #claims: Claims
  readonly #key: string

  constructor(claims: Claims, key: string) {
    this.#claims = claims
    this.#key = key
  }

  settling(): void {
    this.#claims.free(this.#key)
  }

  notSettled(): void {
    this.#claims.hold(this.#key)
  }

  over(): void {
    this.#claims.free(this.#key)
  }
}

const leaseKey = ({ seq, token }: Lease): string => `${seq}.${token}`

/**
 * The part of the capacity that must be free for a claim while another is under way. The store carries out what comes during a commit in the next one: a claim
 * that waited for the answer to the last would miss every other commit. Less room waits for that answer.
 */
const LEAST_FREE = 0.5

/** Claims jobs while there is room: never more than can run. */
export class Claims implements Consumption {
  readonly #queues: readonly string[]
  readonly #receive: (delivery: Delivery) => void
  readonly #actions: ClaimActions
  readonly #held = new Set<string>()
  #capacity: number
  #session: StoreSession | undefined
  #paused = false
  #stopped = false
  /** There may be something to claim: the answer that came last had all that was asked for, or the store has told of more since the claim that was sent last. */
  #more = true
  /** The answer that came last had as many jobs as were asked for. */
  #gotAll = false
  #scheduled = false
  /** Claims that are under way, and for how many jobs. */
  readonly #claiming = new Set<Promise<void>>()
  #asked = 0
  #timer: NodeJS.Timeout | undefined
  /** Cancelled while the answer to their claim may be on its way: with how many answers that may still bring them. */
  readonly #cancelledEarly = new Map<string, number>()

  constructor(queues: readonly string[], capacity: number, receive: (delivery: Delivery) => void, actions: ClaimActions) {
    this.#queues = queues
    this.#capacity = capacity
    this.#receive = receive
    this.#actions = actions
  }

  /** Claims under this session from now on; undefined: under none. */
  use(session: StoreSession | undefined): void {
    this.#session = session
    if (session !== undefined) this.wake()
  }

  setCapacity(capacity: number): void {
    this.#capacity = capacity
    this.#claimSoon()
  }

  async pause(): Promise<void> {
    this.#paused = true
    clearTimeout(this.#timer)
    await Promise.all(this.#claiming)
  }

  resume(): void {
    this.#paused = false
    this.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.pause()
  }

  /** There may be something to claim. */
  wake(): void {
    this.#more = true
    this.#claimSoon()
  }

  cancelled(lease: Lease): void {
    if (this.#held.has(leaseKey(lease))) this.#actions.cancel(String(lease.seq))
    else if (this.#claiming.size > 0) this.#cancelledEarly.set(leaseKey(lease), this.#claiming.size)
  }

  get #room(): number {
    return this.#paused || this.#stopped ? 0 : this.#capacity - this.#held.size - this.#asked
  }

  get #mayClaim(): boolean {
    return this.#claiming.size === 0 ? this.#more && this.#room > 0 : this.#gotAll && this.#room >= this.#capacity * LEAST_FREE && this.#room > 0
  }

  /** In a later turn: settlements of this one go with it. */
  #claimSoon(): void {
    if (this.#scheduled || !this.#mayClaim) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const session = this.#session
      if (session === undefined || !this.#mayClaim) return
      const claiming = this.#claim(session, this.#room).finally(() => {
        this.#claiming.delete(claiming)
        this.#forgetCancelled()
        this.#claimSoon()
      })
      this.#claiming.add(claiming)
    })
  }

  /** An answer has come: they come in the order of the claims. */
  #forgetCancelled(): void {
    for (const [key, answers] of this.#cancelledEarly) {
      if (answers === 1) this.#cancelledEarly.delete(key)
      else this.#cancelledEarly.set(key, answers - 1)
    }
  }

  async #claim(session: StoreSession, max: number): Promise<void> {
    clearTimeout(this.#timer)
    this.#more = false
    this.#asked += max
    try {
      const { jobs, nextAt } = await session.claim(this.#queues, max).finally(() => {
        this.#asked -= max
      })
      this.#gotAll = jobs.length === max
      if (this.#gotAll) this.#more = true
      else if (nextAt !== undefined) this.#wakeIn(nextAt - Date.now())
      for (const job of jobs) this.#takeSafely(job, session)
    } catch (error) {
      this.#gotAll = false
      if (session.lost.aborted || this.#stopped) return
      this.#actions.refused(error)
      this.#wakeIn(REFUSED_WAIT)
    }
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#paused) this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(1, ms), MAX_TIMER))
  }

  /** A job that the runtime refuses goes back alone. One that nobody can decode ends: it would only come again. */
  #takeSafely(job: ClaimedJob, session: StoreSession): void {
    try {
      this.#take(job, session)
    } catch (error) {
      this.#actions.refused(error)
      this.#held.delete(leaseKey(job))
      this.#settle(session.settle(job, error instanceof UndecodableError ? undecodable(job, error) : { as: 'release' }))
    }
  }

  #take(job: ClaimedJob, session: StoreSession): void {
    if (session.lost.aborted) return
    const key = leaseKey(job)
    if (this.#cancelledEarly.has(key)) this.#settle(session.settle(job, { as: 'cancelled', ...CANCELLED, counts: job.counts, history: job.history }))
    // The room may be gone since the claim began.
    else if (this.#room <= 0) {
      this.#more = true
      this.#settle(session.settle(job, { as: 'release' }))
    } else {
      this.#held.add(key)
      this.#receive(this.#actions.deliver(job, session, new HeldKey(this, key)))
    }
  }

  hold(key: string): void {
    this.#held.add(key)
  }

  free(key: string): void {
    if (this.#held.delete(key)) this.#claimSoon()
  }

  #settle(settled: Promise<boolean>): void {
    settled.catch((error: unknown) => this.#actions.refused(error))
  }
}
