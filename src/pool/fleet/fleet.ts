import { availableParallelism } from 'node:os'
import type { Deadline } from '../../hub/index.js'
import type { WorkerStartError } from '../../wire/errors.js'
import { lostReason, restartCutShort, startError } from '../errors.js'
import type { Broadcast } from '../jobs/broadcast.js'
import type { JobRecord } from '../jobs/job.js'
import type { PoolState } from '../pool-state.js'
import type { Launcher } from '../worker/launcher.js'
import { PoolWorker } from '../worker/worker.js'
import type { WorkerOwner } from '../worker/worker-owner.js'
import { Autoscaler } from './autoscaler.js'
import { hasIsolatedRetries, OrphanedJobs } from './orphaned-jobs.js'
import { holdsNothing, Retirement } from './retirement.js'
import { RollingRestart } from './rolling-restart.js'
import { StartRecord } from './start-record.js'
import { WorkerSet } from './worker-set.js'

export interface FleetEvents {
  /** The pool's worker owner, given to each worker. */
  owner: WorkerOwner
  /** Enough starts have failed and no worker is up. */
  cannotStart(error: WorkerStartError): void
  /** The place of this share of a broadcast has been taken away: nobody answers it. */
  unanswered(share: JobRecord): void
}

/** Keeps the right number of workers: starts, replaces, recycles, scales, and bounds what is alive at once. */
export class Fleet {
  /** How many workers are wanted. */
  readonly scale: Autoscaler
  readonly #pool: PoolState
  readonly #roster: WorkerSet
  readonly #launch: Launcher
  readonly #events: FleetEvents
  readonly #startsAtOnce = Math.max(2, availableParallelism())
  #nextId = 1
  #dismissed = false
  /** Something has changed since the last round: a round costs more than a short job. */
  #changed = true
  readonly #starts = new StartRecord()
  readonly #leftovers = new OrphanedJobs()
  #retryTimer: Deadline | undefined
  readonly #restarts: RollingRestart
  readonly retirement: Retirement

  constructor(pool: PoolState, launch: Launcher, events: FleetEvents) {
    this.#pool = pool
    this.#roster = new WorkerSet(pool)
    this.#launch = launch
    this.#events = events
    this.scale = new Autoscaler(pool, () => this.changed())
    this.retirement = new Retirement(pool, () => this.changed())
    this.#restarts = new RollingRestart((worker) => this.retirement.retire(worker, 'restart'))
  }

  /** Asks for a round in the next tick. */
  changed(): void {
    this.#changed = true
    this.#pool.hub.wake()
  }

  /**
   * The places that a broadcast asks: each worker that is up, starts or is wanted, stand-bys included; in a rolling restart one
   * for two. What it answers with takes the share of each place.
   */
  places(broadcast: Broadcast): ((share: JobRecord) => void)[] {
    const places: ((share: JobRecord) => void)[] = []
    const serving = this.#roster.serving()
    const doubled = this.#restarts.doubled(serving, this.scale.target)
    for (const worker of this.#roster.all()) {
      if (!(worker.isUp || worker.state === 'starting') || worker === doubled) continue
      broadcast.ask(worker)
      places.push((share) => worker.pinned.push(share))
    }
    const missing = Math.max(0, this.scale.target - serving.length) + this.#roster.missingSpares
    for (let i = 0; i < missing; i++) places.push((share) => this.#leftovers.share([share]))
    return places
  }

  // ---- the round, once a tick

  /** Brings the fleet nearer to what is wanted: at most one process is started at a time. */
  readonly balance = (): void => {
    const { phase } = this.#pool
    if (!this.#changed) return
    this.#changed = false
    this.scale.updateSlotTarget(this.#roster.all())
    if (phase === 'terminating' || phase === 'closed' || this.#dismissed) return
    this.#passOn()
    if (!this.#leftovers.empty) this.scale.atLeastOne()
    this.#handOut()
    this.#restarts.release(this.#roster.serving(), this.scale.target)
    const serving = this.#roster.serving()
    const wanted = this.scale.target + this.#restarts.extra(serving)
    this.#leave(serving.length >= wanted)
    this.#restarts.settle(serving.length >= this.scale.target && serving.every((worker) => worker.isUp), this.scale.target)
    if (serving.length > wanted) this.#shrink(serving, serving.length - wanted)
    else if (serving.length < wanted) {
      if (this.#promote()) {
        this.#handOut()
        this.changed()
      } else this.#start(false)
    } else if (this.#roster.spares < this.#pool.settings.spare && this.#starts.everUp) this.#start(true)
  }

  /** What a worker on its way out will not run any more goes to others. */
  #passOn(): void {
    for (const worker of this.#roster.all()) {
      // One that has nothing in hand would wait for a slot, perhaps that of its own predecessor.
      const goesOn = worker.jobs.inFlight > 0 && !worker.unusable && worker.quota(this.#pool.settings.maxJobsPerWorker) > 0
      if (worker.state !== 'draining' || goesOn) continue
      this.#leftovers.share(worker.pinned.splice(0))
      if (worker.isolatedRetries.length > 0) this.#leftovers.group(worker.isolatedRetries.splice(0))
    }
  }

  /** A worker that is to leave does so once it holds nothing and its successor is up, or cannot be started before it is gone. */
  #leave(complete: boolean): void {
    for (const worker of this.#roster.all()) {
      if (worker.state !== 'draining' || !holdsNothing(worker)) continue
      const successor = this.#roster.successor(worker)
      if (!worker.recycled || successor?.isUp || (successor === undefined && (complete || !this.#mayStart()))) worker.quit(5 * this.#pool.settings.cancelGrace)
    }
  }

  #mayStart(): boolean {
    return this.#roster.all().length < this.scale.max + this.#pool.settings.spare + 1
  }

  #start(spare: boolean): void {
    const pool = this.#pool
    const { hub, settings } = pool
    if (!this.#mayStart()) return
    // One after another stands still: whether any can serve is told to those who wait before the next is tried.
    if (this.#starts.broken && this.#roster.all().some((worker) => worker.quarantined)) return
    if (this.#roster.starting >= (this.#starts.everUp ? this.#startsAtOnce : 1)) return
    const now = hub.now()
    // A start takes the host some ms and keeps a core busy: the first job's caller would wait for it.
    const notBefore = Math.max(this.#starts.notBefore, pool.pending > 0 ? this.#starts.firstJobUntil : 0)
    if (now < notBefore) {
      this.#retryTimer ??= hub.callLater(notBefore - now, () => {
        this.#retryTimer = undefined
        this.changed()
      })
      return
    }
    const id = this.#nextId++
    const launched = this.#launch(id)
    const worker = new PoolWorker(
      id,
      hub,
      this.#events.owner,
      {
        maxMessageSize: settings.maxMessageSize,
        lostWorkerTimeout: settings.lostWorkerTimeout,
        aliveTimeout: settings.aliveTimeout,
        captureOutput: settings.output === 'capture',
        forwardStderr: settings.output === 'inherit',
      },
      launched,
      this.#starts.timeoutFactor,
    )
    worker.spare = spare
    if (!spare) worker.predecessor = this.#roster.withoutSuccessor()
    pool.workers.set(id, worker)
    pool.totals.workersStarted++
    pool.log?.debug({ worker: id, pid: launched.pid, spare }, 'worker started')
    if (pool.events.wants('workerStart')) pool.events.emit('workerStart', { worker: id, pid: launched.pid })
    // One process in a tick: starting one blocks the host.
    this.changed()
  }

  /** A warm stand-by goes to work. */
  #promote(): boolean {
    const spare = this.#roster.all().find((worker) => worker.spare && worker.isUp)
    if (spare === undefined) return false
    spare.spare = false
    spare.predecessor = this.#roster.withoutSuccessor()
    // To a rolling restart it is a successor that has just come up.
    this.#restarts.up(spare)
    this.#pool.log?.debug({ worker: spare.id }, 'spare worker goes to work')
    return true
  }

  /** Gives what a death left over to a worker: first to one that has just come up, else to one that is idle. */
  #handOut(): void {
    if (this.#leftovers.empty) return
    const up = this.#roster.all().filter((worker) => worker.isUp)
    const able = up.filter((worker) => !worker.spare && !hasIsolatedRetries(worker))
    const fresh = able.filter((worker) => worker.jobs.deliveries === 0)
    const serving = this.#roster.serving()
    const noneStarts = this.#roster.starting === 0
    const complete = noneStarts && serving.length >= this.scale.target + this.#restarts.extra(serving)
    // Whoever is there does it when no fresh worker is to be expected: it takes nothing else before it is through.
    const others = complete || this.#starts.broken ? able.filter((worker) => !fresh.includes(worker)).sort((a, b) => a.jobs.inFlight - b.jobs.inFlight) : []
    const given = this.#leftovers.assignGroups([...fresh, ...others])
    const shared = this.#leftovers.assignShares(up.filter((worker) => !worker.unusable))
    if (given || shared) this.changed()
    // A stand-by that died has a successor as well.
    const nobodyToCome = noneStarts && (this.#starts.broken || (complete && this.#roster.missingSpares === 0))
    if (nobodyToCome && up.length > 0) for (const share of this.#leftovers.unanswerable(up)) this.#events.unanswered(share)
  }

  #shrink(serving: PoolWorker[], surplus: number): void {
    const leastFirst = serving.sort(
      (a, b) => Number(b.state === 'starting') - Number(a.state === 'starting') || a.jobs.inFlight - b.jobs.inFlight || a.lastProgressAt - b.lastProgressAt,
    )
    for (const worker of leastFirst.slice(0, surplus)) this.retirement.retire(worker, 'shrink')
  }

  // ---- what happens to workers

  up(worker: PoolWorker): void {
    this.#starts.up(this.#pool.hub.now())
    worker.upOnce = true
    this.#restarts.up(worker)
    if (!worker.spare) worker.predecessor ??= this.#roster.withoutSuccessor()
    this.changed()
  }

  /** A job was accepted: the tasks are known to load and to be taken up. */
  proven(): void {
    if (this.#starts.proven()) this.#startNow()
  }

  /** A job has settled: what waited for the first may start. */
  settled(): void {
    if (this.#starts.settled()) this.#startNow()
  }

  /** Whatever failed before is no sign any more. */
  #startAnew(): void {
    this.#starts.anew()
    this.#startNow()
  }

  /** Whatever has put off the next start does so no more. */
  #startNow(): void {
    this.#pool.hub.cancel(this.#retryTimer)
    this.#retryTimer = undefined
    this.changed()
  }

  exited(worker: PoolWorker): void {
    const { totals, log, phase } = this.#pool
    const unproven = worker.jobs.accepted === 0
    const died = !worker.expected || worker.exit?.error !== undefined
    // One that came up and stood still before it took anything up failed as well, even if it left when it was told to.
    if (unproven && phase !== 'terminating' && (died || worker.quarantined)) {
      this.#starts.failed(this.#pool.hub.now(), this.#blameless(worker), worker.startTimedOut)
    }
    // The last one, and it was good: starts that failed while it worked are no reason to give up its successor unseen.
    if (!unproven && died && !this.#roster.anyUp) this.#startAnew()
    if (died) {
      totals.workersDied++
      log?.error({ worker: worker.id, pid: worker.pid, reason: lostReason(worker), ...worker.exit, stderr: worker.stderr }, 'worker died')
    }
    this.changed()
  }

  /** That no process can be made, where one could before, will pass: no descriptors are left just now, or no memory. */
  #blameless(worker: PoolWorker): boolean {
    return worker.modulesNotAtFault || (this.#starts.everUp && worker.exit?.error !== undefined)
  }

  drained(worker: PoolWorker): void {
    const pool = this.#pool
    pool.workers.delete(worker.id)
    pool.past.workers++
    pool.past.writes += worker.writer.writes
    for (const each of pool.workers.values()) if (each.predecessor === worker) each.predecessor = undefined
    this.#leftovers.share(worker.pinned.splice(0))
    if (this.#starts.broken && worker.jobs.accepted === 0 && (!worker.expected || worker.quarantined)) {
      const error = startError(worker, this.#starts.failures(this.#blameless(worker)), pool.settings.tasks)
      this.#restarts.fail(error)
      if (!this.#roster.anyUp) {
        pool.log?.error({ err: error }, 'no worker can be started')
        this.#events.cannotStart(error)
      }
    }
    this.#restarts.gone(worker)
    this.changed()
  }

  /** Jobs that a death left: for its replacement, before anything else. */
  retry(jobs: JobRecord[]): void {
    this.#leftovers.group(jobs)
  }

  /** Jobs in the fleet's own hands, which are in no outbox and no worker. */
  takeOrphanedJobs(): JobRecord[] {
    return this.#leftovers.takeAll()
  }

  // ---- how many

  /** Jobs wait and no worker has room. */
  backlog(): void {
    this.scale.backlog(this.#roster.serving().filter((worker) => worker.state === 'starting').length)
  }

  /** Workers above `min` that have been idle for `keepAlive` leave. */
  retireIdle(): void {
    if (this.#leftovers.empty) for (const worker of this.scale.idle(this.#roster.serving())) this.retirement.retire(worker, 'shrink')
  }

  restart(): Promise<void> {
    for (const worker of this.#roster.all()) {
      // One that holds no job, because it stands by or is still starting, is simply replaced.
      if (worker.spare || worker.state === 'starting') this.retirement.retire(worker, 'shrink')
    }
    // Whoever asks for it has mended what kept them from starting.
    if (this.#starts.broken) this.#startAnew()
    const done = this.#restarts.begin(this.#roster.serving().filter((worker) => worker.isUp))
    this.changed()
    return done
  }

  // ---- the end

  /** All jobs are done: every worker is asked to leave. */
  dismiss(): void {
    this.#dismissed = true
    this.#restarts.fail(restartCutShort())
    for (const worker of this.#roster.all()) {
      worker.expected = true
      if (worker.state === 'starting') worker.kill()
      else worker.quit(5 * this.#pool.settings.cancelGrace)
    }
  }

  /** Every worker is ended now. */
  killAll(): void {
    this.#restarts.fail(restartCutShort())
    for (const worker of this.#roster.all()) {
      worker.expected = true
      worker.kill()
    }
  }
}
