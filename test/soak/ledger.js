// Records what every job and every worker did, from the pool's events and from the journal that the tasks write. A job is verified
// and forgotten some time after it has settled, so that the memory of the host is the memory of the pool.
import { openSync, readSync, writeFileSync } from 'node:fs'
import {
  MemoryLimitError,
  QueueFullError,
  SerializationError,
  SoftTimeLimitError,
  TaskNotFoundError,
  TimeLimitError,
  WorkerLostError,
  WorkerStartError,
} from 'prefork'

/** The name of a rejection in a plan's `may`. */
export const kindOf = (error, id) => {
  if (error instanceof WorkerLostError) return 'lost'
  if (error instanceof TimeLimitError) return 'hard'
  if (error instanceof SoftTimeLimitError) return 'soft'
  if (error instanceof MemoryLimitError) return 'memory'
  if (error instanceof SerializationError) return 'serialization'
  if (error instanceof QueueFullError) return 'full'
  if (error instanceof TaskNotFoundError) return 'unknown task'
  if (error instanceof WorkerStartError) return 'start'
  if (error instanceof RangeError && error.message === `thrown by ${id}` && error.code === 'E_SOAK' && error.job === id) return 'thrown'
  return `other: ${error?.stack ?? String(error)}`
}

/** Plans of the jobs that map and broadcast make: they have no id of ours and are found by the name of their task. */
const BY_NAME = {
  mapped: { kind: 'map', retry: 0, may: ['value'], cancellable: true },
  mappedAgain: { kind: 'map', retry: 2, may: ['value'], cancellable: true },
  pidOf: { kind: 'broadcast', retry: 0, may: ['value'] },
}

/** The pool has shrunk, by itself or by `resize`: the share of a broadcast for a worker that is not wanted any more has no answer. */
const placeIsGone = ({ options, resized }, plan, error) =>
  plan.kind === 'broadcast' && (resized || typeof options.workers === 'object') && /^No worker is left to answer the broadcast/.test(error?.message)

/** A recorded cause explains the death of a worker for so long, ms. */
const CAUSE_WINDOW_MS = 30_000
/** ms between the exit of a worker and the search for its cause: the journal is read at least twice in between. */
const EXIT_SETTLE_MS = 3_000

export class Ledger {
  jobs = new Map()
  workers = new Map()
  violationCount = 0
  pending = new Map()
  counts = {
    submitted: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    lost: 0,
    refused: 0,
    began: 0,
    begunTwice: 0,
    lostWithoutCause: 0,
    lostUnaccepted: 0,
    neverSettled: 0,
    lostAndNeverBegan: 0,
    putBack: 0,
    putBackByDeath: 0,
    retried: 0,
    verified: 0,
    deaths: 0,
    expectedExits: 0,
    starts: 0,
    workerFaults: 0,
    softTimeLimits: 0,
  }
  failures = {}
  ends = {}
  #plans = new Map()
  #byPid = new Map()
  #pools = new Map()
  #path
  #fd
  #offset = 0
  #rest = ''
  #chunk = Buffer.allocUnsafe(256 * 1024)
  #keepMs

  #onViolation

  /** `keepMs`: ms that a settled job is kept before it is verified and forgotten. */
  constructor(path, keepMs, onViolation) {
    writeFileSync(path, '')
    this.#path = path
    this.#fd = openSync(path, 'r')
    this.#keepMs = keepMs
    this.#onViolation = onViolation
  }

  get path() {
    return this.#path
  }

  violation(what, job) {
    this.violationCount += 1
    if (this.violationCount <= 50) this.#onViolation({ at: new Date().toISOString(), what, ...(job === undefined ? {} : { job: summaryOf(job) }) })
  }

  pendingIn(pool) {
    return this.pending.get(pool)?.size ?? 0
  }

  get allPending() {
    let sum = 0
    for (const set of this.pending.values()) sum += set.size
    return sum
  }

  /** Records what the job of this id may do, before it is submitted. */
  plan(id, plan) {
    this.#plans.set(id, plan)
  }

  // ---- events of the pool

  watch(name, pool, options) {
    const own = { name, pool, options, resized: false, submitted: 0, putBack: 0, retried: 0, deaths: 0, unproven: 0 }
    this.#pools.set(name, own)
    const pending = new Set()
    this.pending.set(name, pending)
    const workerOf = (id) => this.workers.get(`${name} ${id}`)

    const came = (worker, pid) => {
      this.counts.starts += 1
      const record = { pool: name, id: worker, pid, causes: new Map(), exit: undefined, verified: false }
      this.workers.set(`${name} ${worker}`, record)
      this.#byPid.set(pid, record)
    }
    // The first workers started before a listener could be added.
    for (const { id, pid } of pool.stats().workers) came(id, pid)
    pool.on('workerStart', ({ worker, pid }) => came(worker, pid))
    pool.on('workerExit', (exit) => {
      const record = workerOf(exit.worker)
      if (record === undefined) {
        this.violation(`${name}: worker ${exit.worker} left without having come`)
        return
      }
      if (record.exit !== undefined) this.violation(`${name}: worker ${exit.worker} left twice`)
      record.exit = { ...exit, at: performance.now() }
      if (exit.expected) this.counts.expectedExits += 1
      else {
        this.counts.deaths += 1
        own.deaths += 1
      }
    })
    pool.on('workerFault', () => {
      this.counts.workerFaults += 1
    })
    pool.on('softTimeLimit', () => {
      this.counts.softTimeLimits += 1
    })

    pool.on('jobSubmitted', ({ id, name: task }) => {
      own.submitted += 1
      this.counts.submitted += 1
      if (this.jobs.has(id)) this.violation(`${id} was submitted twice`, this.jobs.get(id))
      const plan = this.#plans.get(id) ?? BY_NAME[task]
      this.#plans.delete(id)
      if (plan === undefined) this.violation(`${id}: a job of '${task}' that has no plan`)
      this.jobs.set(id, { id, pool: name, task, plan, attempt: 1, accepts: [], putBacks: [], lines: [], settled: undefined, outcomes: 0 })
      pending.add(id)
    })
    pool.on('jobAccepted', ({ id, worker, attempt }) => {
      const job = this.jobs.get(id)
      own.unproven = 0
      if (job === undefined || job.settled !== undefined) {
        this.violation(`promise 3: ${id} was accepted though it is not pending`, job)
        return
      }
      const record = workerOf(worker)
      if (record === undefined || record.exit !== undefined) this.violation(`promise 1: ${id} was accepted by a worker that is not there: ${worker}`, job)
      if (attempt !== job.attempt) this.violation(`promise 1: ${id} was accepted in attempt ${attempt} while ${job.attempt} is the one`, job)
      if (job.accepts.some((accept) => accept.attempt === attempt)) this.violation(`promise 3: ${id} was accepted twice in attempt ${attempt}`, job)
      job.accepts.push({ attempt, worker: record })
    })
    pool.on('jobPutBack', ({ id, worker }) => {
      const job = this.jobs.get(id)
      own.putBack += 1
      this.counts.putBack += 1
      if (job === undefined || job.settled !== undefined) {
        this.violation(`promise 2: ${id} was put back though it is not pending`, job)
        return
      }
      if (job.accepts.some((accept) => accept.attempt === job.attempt)) this.violation(`promise 2: ${id} was put back after it had been accepted`, job)
      // The worker's exit event follows later in this turn of the event loop.
      const record = workerOf(worker)
      const alive = pool.stats().workers.some((each) => each.id === worker && each.state !== 'dead')
      if (!alive) this.counts.putBackByDeath += 1
      job.putBacks.push({ worker: record, death: !alive })
    })
    pool.on('jobRetried', ({ id, attempt }) => {
      const job = this.jobs.get(id)
      own.retried += 1
      this.counts.retried += 1
      if (job === undefined || job.settled !== undefined) {
        this.violation(`promise 3: ${id} was retried though it is not pending`, job)
        return
      }
      if (!job.accepts.some((accept) => accept.attempt === job.attempt))
        this.violation(`promise 3: ${id} was retried though attempt ${job.attempt} was never accepted`, job)
      if (attempt !== job.attempt + 1) this.violation(`promise 3: ${id}: attempt ${attempt} follows ${job.attempt}`, job)
      if (attempt > 1 + job.plan.retry) this.violation(`promise 3: ${id} is to begin more often than retryLost allows`, job)
      job.attempt = attempt
    })
    pool.on('jobSettled', ({ id, state, worker, error }) => {
      const job = this.jobs.get(id)
      if (job === undefined) {
        this.violation(`promise 3: ${id} settled (${state}) though it is unknown, or had settled long before`)
        return
      }
      if (job.settled !== undefined) {
        this.violation(`promise 3: ${id} settled twice: ${job.settled.state}, then ${state}`, job)
        return
      }
      pending.delete(id)
      this.counts[state] += 1
      const record = worker === undefined ? undefined : workerOf(worker)
      job.settled = { state, worker: record, at: performance.now(), kind: state, accepted: undefined }
      this.#verifyOutcome(own, job, error)
    })
  }

  resized(name) {
    this.#pools.get(name).resized = true
  }

  /** Checks at once whether the plan allows this end of the job. */
  #verifyOutcome(own, job, error) {
    const { plan, settled } = job
    const { state, worker } = settled
    const unexpected = (what) => this.violation(`promise 3: ${job.id} (${plan.kind}): ${what}`, job)
    if (state === 'succeeded') {
      if (!plan.may.includes('value')) unexpected('succeeded')
      return
    }
    if (state === 'cancelled') {
      if (plan.cancelled !== true && plan.cancellable !== true && !placeIsGone(own, plan, error)) unexpected(`was cancelled without a call: ${error}`)
      if (plan.reason !== undefined && error !== plan.reason) unexpected(`was cancelled with another reason: ${error}`)
      worker?.causes.set('cancel', performance.now())
      return
    }
    const kind = kindOf(error, job.id)
    settled.kind = kind
    if (state === 'lost') {
      if (kind !== 'lost') {
        unexpected(`was lost with the wrong error: ${kind}`)
        return
      }
      settled.accepted = error.accepted
      settled.reason = error.reason
      if (!error.accepted) this.counts.lostUnaccepted += 1
      return
    }
    this.failures[kind.startsWith('other') ? 'other' : kind] = (this.failures[kind.startsWith('other') ? 'other' : kind] ?? 0) + 1
    if (kind === 'full' ? own.options.maxQueue === undefined : !plan.may.includes(kind)) unexpected(`failed: ${kind}`)
    if (['hard', 'soft', 'memory'].includes(kind)) worker?.causes.set(kind, performance.now())
  }

  /** Records how the caller's promise settled. */
  outcome(id, state, kind) {
    const job = this.jobs.get(id)
    if (job === undefined) {
      // Refused by the call: it was never submitted.
      const plan = this.#plans.get(id)
      this.#plans.delete(id)
      this.counts.refused += 1
      if (plan === undefined) this.violation(`promise 3: ${id}: its promise settled (${kind}) long after the job, or twice`)
      else if (state !== 'failed' || !['full', ...plan.may].includes(kind)) this.violation(`${id} (${plan.kind}) was never submitted and ${state}: ${kind}`)
      return
    }
    job.outcomes += 1
    if (job.settled === undefined) this.violation(`promise 3: ${id}: its promise settled before the job`, job)
    else if (job.settled.state !== state) this.violation(`promise 3: ${id}: its promise says ${state} (${kind}), the event ${job.settled.state}`, job)
  }

  /** Records `job.began`; it is compared with the journal later. */
  began(id, began) {
    const job = this.jobs.get(id)
    if (job !== undefined) job.began = began
    else if (!began) return
    else this.violation(`promise 1: ${id}: began settled long after the job`)
  }

  // ---- the journal

  readJournal() {
    for (;;) {
      const count = readSync(this.#fd, this.#chunk, 0, this.#chunk.length, this.#offset)
      if (count === 0) return
      this.#offset += count
      const lines = (this.#rest + this.#chunk.latin1Slice(0, count)).split('\n')
      this.#rest = lines.pop()
      for (const line of lines) this.#line(line.split(' '))
    }
  }

  #line([id, second, third]) {
    if (id === '!') {
      this.#byPid.get(Number(second))?.causes.set(third, performance.now())
      return
    }
    if (id === '=') {
      const answered = this.jobs.get(second)
      if (answered !== undefined) answered.answered = true
      return
    }
    this.counts.began += 1
    const job = this.jobs.get(id)
    if (job === undefined) {
      this.violation(`the journal has a line of ${id}, which is unknown or was verified before: ${second} ${third}`)
      return
    }
    const attempt = Number(second)
    if (job.lines.some((line) => line.attempt === attempt)) {
      this.counts.begunTwice += 1
      this.violation(`promise 3: ${id} began twice in attempt ${attempt}`, job)
    }
    job.lines.push({ attempt, pid: Number(third) })
    if (job.lines.length > 1 + job.plan.retry) {
      this.counts.begunTwice += 1
      this.violation(`promise 3: ${id} began ${job.lines.length} times, retryLost being ${job.plan.retry}`, job)
    }
  }

  /** Records a fault that the host injected: a signal to a worker. */
  injected(name, id, how) {
    this.workers.get(`${name} ${id}`)?.causes.set(how, performance.now())
  }

  /** Whether one more worker that has accepted no job may be killed: many in a row would trip the limit on failed starts. */
  mayKillUnproven(name) {
    const own = this.#pools.get(name)
    if (own.unproven >= 1) return false
    own.unproven += 1
    return true
  }

  // ---- verification

  /** Verifies the jobs that settled long enough ago, or all of them. */
  sweep(everything = false) {
    this.readJournal()
    const now = performance.now()
    for (const job of this.jobs.values()) {
      if (job.settled === undefined) continue
      if (!everything && now - job.settled.at < this.#keepMs) continue
      this.#verify(job)
      this.jobs.delete(job.id)
    }
    for (const [key, worker] of this.workers) {
      if (worker.exit === undefined || (!everything && now - worker.exit.at < EXIT_SETTLE_MS)) continue
      if (!worker.verified) this.#recordExit(worker)
      worker.verified = true
      if (!everything && now - worker.exit.at < 2 * this.#keepMs) continue
      this.workers.delete(key)
      if (this.#byPid.get(worker.pid) === worker) this.#byPid.delete(worker.pid)
    }
  }

  #verify(job) {
    this.counts.verified += 1
    const { id, plan, settled, lines, accepts } = job
    const wrong = (what) => this.violation(`promise 3: ${id} (${plan.kind}): ${what}`, job)
    if (plan.promise && job.outcomes !== 1) wrong(`its promise settled ${job.outcomes} times`)
    if (job.began === false && lines.length > 0) wrong('began is false, and it ran')
    if (plan.promise && job.began === undefined) wrong('began never settled')
    for (const line of lines) {
      const accept = accepts.find((each) => each.attempt === line.attempt)
      // The worker may begin a written job before CANCEL reaches it; `began` is true then.
      if (accept === undefined) {
        if (settled.state !== 'cancelled' || (plan.promise && job.began !== true)) wrong(`ran in attempt ${line.attempt}, which was never accepted`)
      } else if (accept.worker !== undefined && accept.worker.pid !== line.pid) wrong(`accepted by ${accept.worker.pid} and run by ${line.pid}`)
    }
    if (settled.state === 'succeeded' && !lines.some((line) => line.attempt === job.attempt)) wrong('succeeded and never ran')
    if (['hard', 'soft', 'thrown', 'memory'].includes(settled.kind) && accepts.length === 0) wrong(`ended by ${settled.kind} and was never accepted`)
    for (const { attempt, worker } of accepts) {
      if (attempt < job.attempt && worker?.exit === undefined) wrong(`ran again though the worker of attempt ${attempt} lives`)
    }
    if (settled.state === 'lost') this.#verifyLoss(job, wrong)
  }

  #verifyLoss(job, wrong) {
    const { settled, lines, accepts } = job
    const without = (what) => {
      this.counts.lostWithoutCause += 1
      wrong(`lost without cause: ${what}`)
    }
    if (settled.reason === 'put back too often') {
      const deaths = job.putBacks.filter((each) => each.death).length
      if (deaths < (this.#pools.get(job.pool).options.maxPutBacks ?? 5)) without(`put back too often, after ${deaths} deaths`)
      if (lines.some((line) => line.attempt === job.attempt)) wrong('was never accepted, and ran')
      return
    }
    if (!settled.accepted) {
      without('not accepted')
      if (lines.length > 0) wrong('not accepted, and it ran')
      return
    }
    if (lines.length === 0) this.counts.lostAndNeverBegan += 1
    if (job.answered && !settled.worker?.causes.has('pipe')) without('its answer had been written')
    const accept = accepts.find((each) => each.attempt === job.attempt)
    if (accept === undefined) without('said to be accepted, and never was')
    else if (accept.worker?.exit === undefined) without(`its worker ${accept.worker?.id} lives`)
    else if (!accept.worker.exit.expected && this.#causeOf(accept.worker) === undefined)
      without(`its worker died without a known cause: ${JSON.stringify(accept.worker.exit)}`)
    else if (accept.worker.exit.expected) without(`its worker left in good order: ${JSON.stringify(accept.worker.exit)}`)
  }

  /** The cause of a worker's death among the faults recorded for it. */
  #causeOf({ exit, causes }) {
    const within = (name) => causes.has(name) && exit.at - causes.get(name) < CAUSE_WINDOW_MS
    const one = (...names) => names.find(within)
    if (exit.exitCode !== null) return one('exit', 'pipe')
    if (exit.signal === 'SIGKILL') return one('SIGKILL', 'frozen', 'hard', 'soft', 'cancel', 'memory', 'pipe', 'heap')
    if (exit.signal === 'SIGABRT') return one('abort', 'heap')
    return one(exit.signal, 'heap')
  }

  #recordExit(worker) {
    if (worker.exit.expected) {
      this.ends['in good order'] = (this.ends['in good order'] ?? 0) + 1
      return
    }
    const cause = this.#causeOf(worker)
    const name = cause ?? 'unexplained'
    this.ends[name] = (this.ends[name] ?? 0) + 1
    if (cause === undefined) {
      this.violation(
        `${worker.pool}: worker ${worker.id} (pid ${worker.pid}) died without a known cause: ${JSON.stringify(worker.exit)}, recorded: ${[...worker.causes.keys()]}`,
      )
    }
  }

  /** Compares the pool's statistics with the recorded events while no job is pending. */
  compare() {
    for (const { name, pool, submitted, putBack, retried } of this.#pools.values()) {
      const { queued, running, totals } = pool.stats()
      const settled = totals.succeeded + totals.failed + totals.cancelled + totals.lost
      const expect = (what, is, should) => {
        if (is !== should) this.violation(`${name}: stats say ${what} ${is}, and it is ${should}`)
      }
      expect('queued', queued, 0)
      expect('running', running, 0)
      expect('submitted', totals.submitted, submitted)
      expect('settled', settled, submitted)
      expect('putBack', totals.putBack, putBack)
      expect('retried', totals.retried, retried)
    }
  }

  /** Verifies the remaining jobs and reports what never settled or exited. */
  finish() {
    this.sweep(true)
    for (const job of this.jobs.values()) {
      this.counts.neverSettled += 1
      this.violation(`promise 3: ${job.id} (${job.plan?.kind}) never settled`, job)
    }
    for (const worker of this.workers.values()) this.violation(`promise 6: ${worker.pool}: worker ${worker.id} (pid ${worker.pid}) never left`)
    for (const [id, plan] of this.#plans) {
      if (!plan.promise) continue
      this.counts.neverSettled += 1
      this.violation(`promise 3: ${id} (${plan.kind}): its promise never settled`)
    }
  }
}

/** The record of a job in a printable form. */
const summaryOf = ({ id, pool, task, plan, attempt, accepts, putBacks, lines, settled, began, outcomes }) => ({
  id,
  pool,
  task,
  kind: plan?.kind,
  attempt,
  accepts: accepts.map((accept) => `${accept.attempt} by ${accept.worker?.id} (pid ${accept.worker?.pid})`),
  putBacks: putBacks.map((each) => `${each.worker?.id}${each.death ? ' dead' : ''}`),
  lines: lines.map((line) => `${line.attempt} in ${line.pid}`),
  settled: settled && { state: settled.state, kind: settled.kind, accepted: settled.accepted, reason: settled.reason, worker: settled.worker?.id },
  began,
  outcomes,
})
