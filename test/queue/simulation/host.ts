/** What a process does with its store: it claims jobs, begins them and settles them, as a node would. */

import type { Claim, ClaimedJob, Lease, Outcome } from '../../../src/queue/store/store.js'
import type { HistoryEntry, RunRecord } from '../../../src/runtime/delivery.js'
import { encodeReply } from '../../../src/runtime/message/reply.js'
import { withHistory } from '../../../src/runtime/message/serialized-error.js'
import type { Answer, SimProcess } from './process.js'

export const QUEUES = ['a', 'b', 'c'] as const

/** What becomes of a job is in the name of its task. */
export const TASKS = [
  ...new Array<string>(24).fill('ok'),
  'slow',
  'slow',
  'slow',
  'flaky',
  'flaky',
  'flaky',
  'bad',
  'bad',
  'release',
  'release',
  'twice',
  'twice',
  'poison',
]

export const ERROR = { name: 'Error', message: 'it fails', stack: undefined, code: undefined }
const EMPTY = new Uint8Array(0)
const ANSWER = encodeReply({ ok: true, value: 1 })

/** The record of a job that has lost so many runs under its claim; none: undefined. */
export const recordOf = ({ counts, history }: RunRecord, lost: number): RunRecord | undefined => {
  if (lost === 0) return undefined
  const entry = { attempt: counts.attempt, at: 0, node: 'n', outcome: 'lost', error: 'ended with worker 1: killed by SIGKILL' } as const
  return { counts: { ...counts, losses: counts.losses + lost }, history: withHistory(history, ...new Array<HistoryEntry>(lost).fill(entry)) }
}

/** A job that has taken so many processes with it is not run again. */
export const MAX_LOSSES = 2
export const MAX_REQUEUES = 8

interface Active {
  readonly job: ClaimedJob
  /** It has lost runs under this claim. */
  record: RunRecord | undefined
  isSettling: boolean
}

export interface HostSettings {
  readonly queues: readonly string[]
  readonly width: number
  readonly schedulers: boolean
}

export interface Host {
  readonly process: SimProcess
  /** Ends it in order. */
  close(): void
}

/** A host that does also what the broker does not: it settles claims late and twice. */
export class SimHost implements Host {
  readonly process: SimProcess
  readonly #settings: HostSettings
  readonly #active = new Map<string, Active>()
  #session: number | undefined
  #sessions = 0
  #isClaiming = false
  #claimsAgain = false
  #wakeAt = Number.POSITIVE_INFINITY
  #isClosing = false

  constructor(process: SimProcess, settings: HostSettings) {
    this.process = process
    this.#settings = settings
    process.events = {
      ...process.events,
      work: () => this.#claim(),
      lost: (session) => this.#lost(session),
      cancel: (session, lease) => this.#cancelled(session, lease),
    }
    process.inHost(0, () => this.#open())
  }

  get #random(): SimProcess['machine']['world']['random'] {
    return this.process.machine.world.random
  }

  #open(): void {
    const name = `${this.process.name}.${++this.#sessions}`
    this.process.ask({ op: 'openSession', name, schedulers: this.#settings.schedulers }, (answer) => {
      if (this.#isClosing) return
      if (!('value' in answer)) {
        this.process.inHost(300, () => this.#open())
        return
      }
      this.#session = answer.value as number
      this.#claim()
    })
  }

  /** Its jobs may run elsewhere: it forgets them, or is late and settles them nevertheless. */
  #lost(session: number): void {
    if (session !== this.#session) return
    const late = [...this.#active.values()].filter(() => this.#random.chance(0.6))
    this.#active.clear()
    for (const { job } of late) this.#settleLate(job, session, this.#random.pick([0, 0, 50, 500]))
    this.#session = undefined
    this.#isClaiming = false
    this.#open()
  }

  /** As a host does that does not know that its claim is over. */
  #settleLate(job: ClaimedJob, session: number, ms: number): void {
    this.process.inHost(ms, () => this.process.ask({ op: 'settle', session, lease: leaseOf(job), outcome: { as: 'completed', answer: ANSWER } }))
  }

  // ---- claims

  #claim(): void {
    const max = this.#settings.width - this.#active.size
    const session = this.#session
    if (session === undefined || max <= 0 || this.#isClosing) return
    this.#claimsAgain ||= this.#isClaiming
    if (this.#isClaiming) return
    this.#isClaiming = true
    this.process.ask({ op: 'claim', session, queues: this.#settings.queues, max }, (answer) => {
      this.#isClaiming = false
      if (this.#session === session) this.#take(answer)
      if (!this.#claimsAgain) return
      this.#claimsAgain = false
      this.#claim()
    })
  }

  #take(answer: Answer): void {
    if (!('value' in answer)) return
    const { jobs, nextAt } = answer.value as Claim
    for (const job of jobs) this.#begin(job)
    if (nextAt === undefined || nextAt >= this.#wakeAt) return
    this.#wakeAt = nextAt
    this.process.inHost(Math.max(1, nextAt - this.process.wall()), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#claim()
    })
  }

  // ---- jobs

  #begin(job: ClaimedJob): void {
    const active: Active = { job, record: undefined, isSettling: false }
    this.#active.set(keyOf(job), active)
    const { losses, requeues } = job.counts
    if (losses > MAX_LOSSES || requeues > MAX_REQUEUES) {
      this.#settle(active, { as: 'failed', reason: 'lost', error: ERROR, counts: job.counts, history: job.history })
      return
    }
    this.#later(active, this.#random.pick([0, 0, 1, 10, 100]), () => {
      if (job.task === 'release' && this.#random.chance(0.7)) {
        this.#settle(active, { as: 'release' })
        return
      }
      const beginnings = this.#random.pick([1, 1, 1, 3])
      active.record = recordOf(job, beginnings - 1)
      const lost = active.record === undefined ? undefined : { history: active.record.history }
      this.process.ask({ op: 'began', session: this.#session!, lease: leaseOf(job), beginnings, atOnce: job.redelivered, ...lost })
      if (this.#random.chance(0.1)) this.process.ask({ op: 'progress', session: this.#session!, lease: leaseOf(job), value: EMPTY })
      if (job.task === 'poison') this.process.inHost(this.#random.pick([0, 5, 50]), () => this.process.kill())
      else this.#later(active, job.task === 'slow' ? this.#random.between(200, 3_000) : this.#random.pick([0, 1, 5, 30]), () => this.#finish(active))
    })
  }

  /** While its claim stands, as far as this host knows. */
  #later(active: Active, ms: number, fn: () => void): void {
    this.process.inHost(ms, () => {
      if (this.#active.get(keyOf(active.job)) === active && !active.isSettling) fn()
    })
  }

  #finish(active: Active): void {
    const { job, record } = active
    const { counts, history } = record ?? job
    const { attempt } = counts
    if (job.task === 'twice' && attempt === 1) {
      // Its first claim is over, and is settled when the second stands.
      this.#settle(active, { as: 'retry', delay: 0, counts: { ...counts, attempt: 2 }, history, error: ERROR })
      this.#settleLate(job, this.#session!, this.#random.pick([1, 5, 30]))
      return
    }
    const fails = job.task === 'bad' || (job.task === 'flaky' && attempt < 3)
    if (!fails) {
      this.#settle(active, { as: 'completed', answer: ANSWER, ...(record === undefined ? undefined : { record }) })
      if (job.task === 'twice') this.#settleLate(job, this.#session!, 0)
    } else if (attempt < 3) {
      const next = { ...counts, attempt: attempt + 1 }
      this.#settle(active, { as: 'retry', delay: this.#random.pick([0, 20, 300, 2_000]), counts: next, history, error: ERROR })
    } else this.#settle(active, { as: 'failed', reason: 'failed', error: ERROR, counts, history })
  }

  #settle(active: Active, outcome: Outcome): void {
    active.isSettling = true
    this.process.ask({ op: 'settle', session: this.#session!, lease: leaseOf(active.job), outcome }, () => {
      this.#active.delete(keyOf(active.job))
      this.#claim()
    })
  }

  /** Mostly it goes on as if nobody had cancelled the job: how the job ends then is up to the store. */
  #cancelled(session: number, { seq, token }: Lease): void {
    const active = this.#active.get(`${seq} ${token}`)
    if (session !== this.#session || active === undefined || this.#random.chance(0.7)) return
    this.#later(active, this.#random.pick([1, 50]), () => {
      const { counts, history } = active.record ?? active.job
      this.#settle(active, { as: 'cancelled', reason: 'cancelled', error: ERROR, counts, history })
    })
  }

  // ---- the end

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const session = this.#session
    const end = (): void => this.process.ask({ op: 'close' })
    if (session === undefined) end()
    else this.process.ask({ op: 'closeSession', session }, end)
  }
}

const leaseOf = ({ seq, token }: Lease): Lease => ({ seq, token })
const keyOf = ({ seq, token }: Lease): string => `${seq} ${token}`
