import type { Deadline } from '../../hub/index.js'
import { availableCpus } from '../../util/available-cpus.js'
import { restartCutShort } from '../errors.js'
import type { FirstWorker } from '../first-worker.js'
import type { Broadcast } from '../jobs/broadcast.js'
import type { JobRecord } from '../jobs/job.js'
import type { JobLifecycle } from '../jobs/job-lifecycle.js'
import type { PoolState } from '../pool-state.js'
import type { Launcher } from '../worker/launch/launcher.js'
import { PoolWorker } from '../worker/worker.js'
import type { WorkerListener } from '../worker/worker-listener.js'
import { Autoscaler } from './autoscaler.js'
import type { OrphanedJobs } from './orphaned-jobs.js'
import type { Retirement } from './retirement.js'
import { RollingRestart } from './rolling-restart.js'
import type { StartRecord } from './start-record.js'
import { WorkerExit } from './worker-exit.js'
import { WorkerSet } from './worker-set.js'

/** Keeps the right number of workers: starts, replaces, recycles and scales them, and bounds how many processes live at once. */
export class Fleet {
  /** Decides how many workers are wanted. */
  readonly scale: Autoscaler
  readonly workerExit: WorkerExit
  readonly #pool: PoolState
  readonly #workers: WorkerSet
  readonly #launch: Launcher
  readonly #jobs: JobLifecycle
  readonly #retirement: Retirement
  readonly #restarts: RollingRestart
  readonly #starts: StartRecord
  readonly #orphanedJobs: OrphanedJobs
  readonly #startsAtOnce = Math.max(2, availableCpus())
  #listener: WorkerListener<PoolWorker> | undefined
  #nextId = 1
  /** The pool closes: no worker is started any more. */
  #closing = false
  #nextStart: Deadline | undefined

  constructor(pool: PoolState, launch: Launcher, jobs: JobLifecycle, retirement: Retirement, firstWorker: FirstWorker) {
    this.#pool = pool
    this.#workers = new WorkerSet(pool)
    this.#launch = launch
    this.#jobs = jobs
    this.#retirement = retirement
    this.#starts = pool.starts
    this.#orphanedJobs = pool.orphanedJobs
    this.scale = new Autoscaler(pool)
    this.#restarts = new RollingRestart(retirement)
    this.workerExit = new WorkerExit(pool, this.#workers, this.#restarts, jobs, firstWorker)
  }

  /** Starts the first worker. `listener`: for the events of each worker. */
  begin(listener: WorkerListener<PoolWorker>): void {
    this.#listener = listener
    this.balance()
  }

  /**
   * The places of a broadcast: each worker that is up, starts or is wanted, spare workers included; in a rolling restart one place for
   * the old worker and its successor. Each place is a function that assigns a share to it.
   */
  places(broadcast: Broadcast): ((share: JobRecord) => void)[] {
    const places: ((share: JobRecord) => void)[] = []
    const serving = this.#workers.serving()
    const doubled = this.#restarts.doubled(serving, this.scale.wanted)
    for (const worker of this.#workers.alive()) {
      if (!(worker.isUp || worker.isStarting) || worker === doubled) continue
      broadcast.ask(worker)
      places.push((share) => worker.reserved.addShare(share))
    }
    const missing = Math.max(0, this.scale.wanted - serving.length) + this.#workers.missingSpares
    for (let i = 0; i < missing; i++) places.push((share) => this.#orphanedJobs.addShares([share]))
    return places
  }

  /** If anything has changed, brings the fleet one step nearer to the wanted number of workers: it starts at most one process. */
  balance(): void {
    const pool = this.#pool
    if (!pool.balanceDue) return
    pool.balanceDue = false
    this.scale.updateSlotTarget(this.#workers.alive())
    if (pool.phase === 'terminating' || pool.phase === 'closed' || this.#closing) return
    this.#takeReserved()
    if (!this.#orphanedJobs.empty) this.scale.atLeastOne()
    this.#assignOrphans()
    this.#restarts.release(this.#workers.serving(), this.scale.wanted)
    const serving = this.#workers.serving()
    const wanted = this.scale.wanted + this.#restarts.extra(serving)
    this.#quitDrained(serving.length >= wanted)
    this.#restarts.settle(serving.length >= this.scale.wanted && serving.every((worker) => worker.isUp), this.scale.wanted)
    if (serving.length > wanted) this.#shrink(serving, serving.length - wanted)
    else if (serving.length < wanted) {
      if (this.#promote()) {
        this.#assignOrphans()
        pool.requestBalance()
      } else this.#start(false)
    } else if (this.#workers.spares < pool.settings.spare && this.#starts.everUp) this.#start(true)
  }

  /** Takes the reserved jobs of a draining worker that will not run them any more. */
  #takeReserved(): void {
    for (const worker of this.#workers.alive()) {
      // A worker with nothing in flight would have to wait for a slot, possibly a slot that its predecessor holds.
      const goesOn = worker.jobs.inFlight > 0 && !worker.unusable && worker.jobs.quota(this.#pool.settings.maxJobsPerWorker) > 0
      if (!worker.isDraining || goesOn) continue
      this.#orphanedJobs.addShares(worker.reserved.takeShares())
      if (worker.reserved.hasRetries) this.#orphanedJobs.addRetries(worker.reserved.takeRetries())
    }
  }

  /** A draining worker quits when it has no jobs, and its successor is up or cannot start until this one has exited. */
  #quitDrained(complete: boolean): void {
    for (const worker of this.#workers.alive()) {
      if (!worker.isDraining || !worker.holdsNothing) continue
      const successor = this.#workers.successor(worker)
      if (!worker.isBeingReplaced || successor?.isUp || (successor === undefined && (complete || !this.#mayStart()))) worker.quit()
    }
  }

  /** All workers have ended. */
  async closeLauncher(): Promise<void> {
    await this.#launch.close?.()
  }

  #mayStart(): boolean {
    return this.#workers.alive().length < this.scale.max + this.#pool.settings.spare + 1
  }

  #start(spare: boolean): void {
    const pool = this.#pool
    const { hub, settings } = pool
    if (!this.#mayStart()) return
    // Worker after worker stalled: the next start waits until the quarantined worker has exited, which may trip the circuit breaker.
    if (this.#starts.broken && this.#workers.alive().some((worker) => worker.quarantined)) return
    if (this.#workers.starting >= (this.#starts.everUp ? this.#startsAtOnce : 1)) return
    const now = hub.now()
    // A start takes the host some ms and keeps a core busy: the first job would wait for it.
    const notBefore = Math.max(this.#starts.notBefore, pool.unsettled > 0 ? this.#starts.firstJobUntil : 0)
    // `notBefore` may have changed since the timer was set.
    hub.cancel(this.#nextStart)
    if (now < notBefore) {
      this.#nextStart = hub.callLater(notBefore - now, () => pool.requestBalance())
      return
    }
    const id = this.#nextId++
    const launched = this.#launch(id)
    const predecessor = spare ? undefined : this.#workers.withoutSuccessor()
    const worker = new PoolWorker(id, hub, this.#listener!, settings, { launched, timeoutFactor: this.#starts.timeoutFactor, spare, predecessor })
    pool.workers.set(id, worker)
    pool.totals.workersStarted++
    pool.log?.debug({ worker: id, pid: launched.pid, spare }, 'worker started')
    if (pool.events.wants('workerStart')) pool.events.emit('workerStart', { worker: id, pid: launched.pid })
    // Only one process in a tick: a start blocks the host.
    pool.requestBalance()
  }

  /** Promotes a spare worker to a regular one. */
  #promote(): boolean {
    const spare = this.#workers.alive().find((worker) => worker.spare && worker.isUp)
    if (spare === undefined) return false
    spare.promote(this.#workers.withoutSuccessor())
    // For a rolling restart, the spare worker is a successor that has just come up.
    this.#restarts.up(spare)
    this.#pool.log?.debug({ worker: spare.id }, 'spare worker goes to work')
    return true
  }

  /** Gives orphaned jobs to workers: first to workers that have just come up, then to workers with the fewest jobs. */
  #assignOrphans(): void {
    if (this.#orphanedJobs.empty) return
    const up = this.#workers.alive().filter((worker) => worker.isUp)
    const able = up.filter((worker) => !worker.spare && !worker.reserved.isolated)
    const fresh = able.filter((worker) => worker.jobs.deliveries === 0)
    const serving = this.#workers.serving()
    const noneStarts = this.#workers.starting === 0
    const complete = noneStarts && serving.length >= this.scale.wanted + this.#restarts.extra(serving)
    // Workers with jobs are used only if no new worker will start, because a worker with orphaned jobs runs nothing else until they end.
    const others = complete || this.#starts.broken ? able.filter((worker) => !fresh.includes(worker)).sort((a, b) => a.jobs.inFlight - b.jobs.inFlight) : []
    const assigned = this.#orphanedJobs.assignGroups([...fresh, ...others])
    const shared = this.#orphanedJobs.assignShares(up.filter((worker) => !worker.unusable))
    if (assigned || shared) this.#pool.requestBalance()
    // A spare worker that died has a successor as well.
    const noneToCome = noneStarts && (this.#starts.broken || (complete && this.#workers.missingSpares === 0))
    if (noneToCome && up.length > 0) for (const share of this.#orphanedJobs.takeUnanswerable(up)) this.#markUnanswered(share)
  }

  /** The worker that this share was for is gone, and no other worker can answer it. */
  #markUnanswered(share: JobRecord): void {
    share.broadcast?.markUnanswered(share)
    this.#jobs.cancel(share, new DOMException(`No worker is left to answer the broadcast of '${share.name}'.`, 'AbortError'))
  }

  #shrink(serving: PoolWorker[], surplus: number): void {
    const leastFirst = serving.sort(
      (a, b) => Number(b.isStarting) - Number(a.isStarting) || a.jobs.inFlight - b.jobs.inFlight || a.progress.lastAt - b.progress.lastAt,
    )
    for (const worker of leastFirst.slice(0, surplus)) this.#retirement.retire(worker, 'shrink')
  }

  up(worker: PoolWorker): void {
    const now = this.#pool.hub.now()
    this.#starts.up(now, now - worker.startedAt)
    this.#restarts.up(worker)
    if (!worker.spare) worker.replace(this.#workers.withoutSuccessor())
    this.#pool.requestBalance()
  }

  /** Fewer workers are up or start than are wanted. */
  get isIncomplete(): boolean {
    return this.#workers.serving().length < this.scale.wanted
  }

  /** Workers that start, without spare ones. */
  get starting(): number {
    return this.#workers.serving().filter((worker) => worker.isStarting).length
  }

  /** Jobs wait and no worker has room for them. */
  growForBacklog(): void {
    this.scale.growForBacklog(this.starting)
  }

  /** Workers above `min` that have been idle for `keepAlive` are retired. */
  retireIdle(): void {
    if (this.#orphanedJobs.empty) for (const worker of this.scale.shrinkIdle(this.#workers.serving())) this.#retirement.retire(worker, 'shrink')
  }

  restart(): Promise<void> {
    for (const worker of this.#workers.alive()) {
      // A spare or starting worker has no jobs. So it is replaced without waiting for a successor.
      if (worker.spare || worker.isStarting) this.#retirement.retire(worker, 'shrink')
    }
    // The application calls `restart` once it has repaired the cause of the failed starts.
    if (this.#starts.broken) this.#starts.reset()
    const done = this.#restarts.begin(this.#workers.serving().filter((worker) => worker.isUp))
    this.#pool.requestBalance()
    return done
  }

  /** All jobs are done: every worker is asked to quit. */
  retireAll(): void {
    this.#closing = true
    this.#restarts.fail(restartCutShort())
    for (const worker of this.#workers.alive()) {
      if (worker.isStarting) worker.discard()
      else worker.quit()
    }
  }

  /** Every worker is killed. */
  killAll(): void {
    this.#restarts.fail(restartCutShort())
    for (const worker of this.#workers.alive()) worker.discard()
  }
}
