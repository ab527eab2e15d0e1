import { availableParallelism } from 'node:os'
import type { Deadline } from '../hub/index.js'
import type { WorkerStartError } from '../wire/errors.js'
import { Autoscaler } from './autoscaler.js'
import type { JobRecord } from './job.js'
import type { Launcher } from './launcher.js'
import { Leftovers } from './leftovers.js'
import { closedError, lostReason, startError } from './refusals.js'
import { RollingRestart } from './rolling-restart.js'
import { StartRecord } from './start-record.js'
import type { PoolState } from './state.js'
import { PoolWorker } from './worker.js'
import type { WorkerOwner } from './worker-owner.js'

/** A worker that is to leave may keep its jobs for so long, unless the time limit is longer. */
const DRAIN_MS = 60_000

export interface FleetEvents {
  /** The pool's worker owner, given to each worker. */
  owner: WorkerOwner
  /** Enough starts have failed and no worker is up. */
  cannotStart(error: WorkerStartError): void
}

/** How long a worker that is to leave may keep its jobs: their own time limits, or a minute where one has none, ms. */
const drainTime = ({ books }: PoolWorker, timeLimit: number): number =>
  [...books.running.values()].reduce(
    (longest, { spec }) => Math.max(longest, spec.hardLimit > 0 ? spec.hardLimit : DRAIN_MS),
    timeLimit > 0 ? timeLimit : DRAIN_MS,
  )

const holdsNothing = ({ books, pinned, suspects, recalls }: PoolWorker): boolean =>
  books.inFlight === 0 && pinned.length === 0 && suspects.length === 0 && recalls === 0

/** Keeps the right number of workers: starts, replaces, recycles, scales, and bounds what is alive at once. */
export class Fleet {
  /** How many workers are wanted. */
  readonly scale: Autoscaler
  readonly #pool: PoolState
  readonly #launch: Launcher
  readonly #events: FleetEvents
  readonly #startsAtOnce = Math.max(2, availableParallelism())
  #nextId = 1
  #dismissed = false
  /** Something has changed since the last round: a round costs more than a short job. */
  #changed = true
  readonly #starts = new StartRecord()
  readonly #leftovers = new Leftovers()
  #retryTimer: Deadline | undefined
  readonly #restarts: RollingRestart

  constructor(pool: PoolState, launch: Launcher, events: FleetEvents) {
    this.#pool = pool
    this.#launch = launch
    this.#events = events
    this.scale = new Autoscaler(pool, () => this.changed())
    this.#restarts = new RollingRestart((worker) => this.retire(worker, 'restart'))
  }

  // ---- who is there

  #all(): PoolWorker[] {
    return [...this.#pool.workers.values()].filter((worker) => worker.alive)
  }

  /** At work, or starting to be. */
  serving(): PoolWorker[] {
    return this.#all().filter((worker) => !worker.spare && (worker.isUp || worker.state === 'starting'))
  }

  #starting(): number {
    return this.#all().filter((worker) => worker.state === 'starting').length
  }

  get anyUp(): boolean {
    return this.#all().some((worker) => worker.isUp || worker.state === 'draining')
  }

  /** No worker process is left. */
  get empty(): boolean {
    return this.#pool.workers.size === 0
  }

  /** Asks for a round in the next tick. */
  changed(): void {
    this.#changed = true
    this.#pool.hub.wake()
  }

  /** Whom a broadcast is for: all that are up or starting, stand-bys included, each place once. */
  addressees(): PoolWorker[] {
    const serving = this.serving()
    const doubled = this.#restarts.doubled(serving, this.scale.target)
    return this.#all().filter((worker) => worker !== doubled && (worker.isUp || worker.state === 'starting'))
  }

  /** Workers that are wanted and not started yet. */
  get missing(): number {
    return Math.max(0, this.scale.target - this.serving().length)
  }

  /** A job for a worker that is still to be started. */
  forUnborn(job: JobRecord): void {
    this.#leftovers.awaitBirth(job)
  }

  // ---- the round, once a tick

  /** Brings the fleet nearer to what is wanted: at most one process is started at a time. */
  readonly balance = (): void => {
    const { phase } = this.#pool
    if (!this.#changed) return
    this.#changed = false
    this.scale.setFigure(this.#all())
    if (phase === 'terminating' || phase === 'closed' || this.#dismissed) return
    this.#passOn()
    if (!this.#leftovers.empty) this.scale.atLeastOne()
    this.#handOut()
    this.#restarts.release(this.serving(), this.scale.target)
    const serving = this.serving()
    const wanted = this.scale.target + this.#restarts.extra(serving)
    this.#leave(serving.length >= wanted)
    this.#restarts.settle(serving.length >= this.scale.target && serving.every((worker) => worker.isUp))
    // Nobody is to be started any more: whoever is there answers.
    if (serving.length >= wanted || this.#starts.hopeless) this.#leftovers.noMoreBirths()
    if (serving.length > wanted) this.#shrink(serving, serving.length - wanted)
    else if (serving.length < wanted) {
      if (this.#promote()) {
        this.#handOut()
        this.changed()
      } else this.#start(false)
    } else if (this.#all().filter((worker) => worker.spare).length < this.#pool.settings.spare && this.#starts.everUp) this.#start(true)
  }

  /** What a worker on its way out will not run any more goes to others. */
  #passOn(): void {
    for (const worker of this.#all()) {
      // One that has nothing in hand would wait for a slot, perhaps that of its own predecessor.
      const goesOn = worker.books.inFlight > 0 && !worker.unfit && worker.quota(this.#pool.settings.maxJobsPerWorker) > 0
      if (worker.state !== 'draining' || goesOn) continue
      this.#leftovers.orphan(worker.pinned.splice(0))
      if (worker.suspects.length > 0) this.#leftovers.group(worker.suspects.splice(0))
    }
  }

  /** A worker that is to leave does so once it holds nothing and its successor is up, or cannot be started before it is gone. */
  #leave(complete: boolean): void {
    for (const worker of this.#all()) {
      if (worker.state !== 'draining' || !holdsNothing(worker)) continue
      const successor = this.#successor(worker)
      if (!worker.recycled || successor?.isUp || (successor === undefined && (complete || !this.#mayStart()))) worker.quit(5 * this.#pool.settings.cancelGrace)
    }
  }

  #successor(worker: PoolWorker): PoolWorker | undefined {
    return this.#all().find((each) => each.predecessor === worker)
  }

  #mayStart(): boolean {
    return this.#all().length < this.scale.max + this.#pool.settings.spare + 1
  }

  #start(spare: boolean): void {
    const pool = this.#pool
    const { hub, settings } = pool
    if (!this.#mayStart()) return
    // One after another stands still: whether any can serve is told to those who wait before the next is tried.
    if (this.#starts.hopeless && this.#all().some((worker) => worker.shunned)) return
    if (this.#starting() >= (this.#starts.everUp ? this.#startsAtOnce : 1)) return
    const now = hub.now()
    if (now < this.#starts.notBefore) {
      this.#retryTimer ??= hub.callLater(this.#starts.notBefore - now, () => {
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
      this.#starts.patience,
    )
    worker.spare = spare
    if (!spare) worker.predecessor = this.#withoutSuccessor()
    if (!spare) worker.pinned.push(...this.#leftovers.born())
    pool.workers.set(id, worker)
    pool.totals.workersStarted++
    pool.log?.debug({ worker: id, pid: launched.pid, spare }, 'worker started')
    if (pool.events.wants('workerStart')) pool.events.emit('workerStart', { worker: id, pid: launched.pid })
    // One process in a tick: starting one blocks the host.
    this.changed()
  }

  /** A worker on its way out that nobody replaces yet. */
  #withoutSuccessor(): PoolWorker | undefined {
    return this.#all().find((worker) => !worker.spare && (worker.recycled || worker.state === 'draining') && this.#successor(worker) === undefined)
  }

  /** A warm stand-by goes to work. */
  #promote(): boolean {
    const spare = this.#all().find((worker) => worker.spare && worker.isUp)
    if (spare === undefined) return false
    spare.spare = false
    spare.predecessor = this.#withoutSuccessor()
    // To a rolling restart it is a successor that has just come up.
    this.#restarts.up(spare)
    this.#pool.log?.debug({ worker: spare.id }, 'spare worker goes to work')
    return true
  }

  /** Gives what a death left over to a worker: first to one that has just come up, else to one that is idle. */
  #handOut(): void {
    if (this.#leftovers.empty) return
    const able = this.#all().filter((worker) => worker.isUp && !worker.spare && worker.suspects.length === 0 && worker.suspect === undefined)
    const fresh = able.filter((worker) => worker.books.deliveries === 0)
    // Whoever is there does it when no fresh worker is to be expected: it takes nothing else before it is through.
    const noneToCome = this.#starts.hopeless || (this.#starting() === 0 && this.serving().length >= this.scale.target)
    const others = noneToCome ? able.filter((worker) => !fresh.includes(worker)).sort((a, b) => a.books.inFlight - b.books.inFlight) : []
    if (this.#leftovers.handOut(fresh, others)) this.changed()
  }

  #shrink(serving: PoolWorker[], surplus: number): void {
    const leastFirst = serving.sort(
      (a, b) => Number(b.state === 'starting') - Number(a.state === 'starting') || a.books.inFlight - b.books.inFlight || a.lastProgressAt - b.lastProgressAt,
    )
    for (const worker of leastFirst.slice(0, surplus)) this.retire(worker, 'shrink')
  }

  // ---- leaving

  /** No new job, and its place goes to another: `shrink` to none. */
  retire(worker: PoolWorker, why: 'shrink' | 'restart' | 'recycle'): void {
    const { hub, settings, totals, log } = this.#pool
    if (!worker.isUp && worker.state !== 'starting') return
    if (why !== 'shrink') totals.workersRecycled++
    log?.debug({ worker: worker.id, why }, 'worker retires')
    if (worker.state === 'starting') {
      worker.state = 'retiring'
      worker.expected = true
      worker.kill()
      return
    }
    worker.state = 'draining'
    worker.recycled = why !== 'shrink'
    worker.recall()
    worker.drainDeadline = hub.callLater(drainTime(worker, settings.timeLimit), () => {
      // It is its successor that is late.
      if (holdsNothing(worker)) worker.quit(5 * settings.cancelGrace)
      else worker.condemn('killed by the pool', new Error('It was to be recycled and its jobs did not end in time.'))
    })
    this.changed()
  }

  /** Its main thread does not turn: it gets no new job, hands back what it has not begun, and is killed a grace later. */
  abandon(worker: PoolWorker): void {
    const { hub, settings } = this.#pool
    if (!worker.alive || worker.abandoned) return
    worker.abandoned = true
    if (worker.isUp) {
      worker.state = 'draining'
      worker.recycled = true
    }
    worker.recall()
    hub.judge(
      settings.cancelGrace,
      () => worker.readers,
      () => worker.condemn('killed by the pool', new Error('Its main thread did not turn after a time limit or a cancellation.')),
    )
    this.changed()
  }

  /**
   * It stands still, and no job runs there: it gets nothing more, hands back what it has not begun, and is replaced. Killed a grace
   * later, once nothing can begin there any more; if it has moved after all, and begun something, it leaves when that has ended.
   */
  shun(worker: PoolWorker, why: string): void {
    const { hub, settings } = this.#pool
    if (worker.shunned) return
    worker.shunned = true
    if (worker.isUp) this.retire(worker, 'recycle')
    else worker.recall()
    const end = (): void => {
      if (!worker.alive || worker.books.running.size > 0) return
      // Not yet answered: what it was given may still begin. Without a watchdog it is the main thread that answers.
      if (settings.watchdog && worker.recalls > 0) judge()
      else worker.condemn('killed by the pool', new Error(why))
    }
    const judge = (): void => void hub.judge(settings.cancelGrace, () => worker.readers, end)
    judge()
    this.changed()
  }

  // ---- what happens to workers

  up(worker: PoolWorker): void {
    this.#starts.up()
    worker.upOnce = true
    this.#restarts.up(worker)
    if (!worker.spare) worker.predecessor ??= this.#withoutSuccessor()
    this.changed()
  }

  /** A job was accepted: the tasks are known to load and to be taken up. */
  proven(): void {
    if (!this.#starts.proven()) return
    this.#pool.hub.cancel(this.#retryTimer)
    this.#retryTimer = undefined
    this.changed()
  }

  exited(worker: PoolWorker): void {
    const { totals, log, phase } = this.#pool
    const unproven = worker.books.accepted === 0
    const died = !worker.expected || worker.exit?.error !== undefined
    // One that came up and stood still before it took anything up failed as well, even if it left when it was told to.
    if (unproven && phase !== 'terminating' && (died || worker.shunned)) {
      this.#starts.failed(this.#pool.hub.now(), this.#blameless(worker), worker.startTimedOut)
    }
    if (died) {
      totals.workersDied++
      log?.error({ worker: worker.id, pid: worker.pid, reason: lostReason(worker), ...worker.exit, stderr: worker.stderr }, 'worker died')
    }
    this.changed()
  }

  /** That no process can be made, where one could before, will pass: no descriptors are left just now, or no memory. */
  #blameless(worker: PoolWorker): boolean {
    return worker.blameless || (this.#starts.everUp && worker.exit?.error !== undefined)
  }

  buried(worker: PoolWorker): void {
    const pool = this.#pool
    pool.workers.delete(worker.id)
    pool.past.workers++
    pool.past.writes += worker.writer.writes
    for (const each of pool.workers.values()) if (each.predecessor === worker) each.predecessor = undefined
    this.#leftovers.orphan(worker.pinned.splice(0))
    if (this.#starts.hopeless && (!worker.expected || worker.shunned)) {
      const error = startError(worker, this.#starts.failures(this.#blameless(worker)), pool.settings.tasks)
      this.#restarts.fail(error)
      if (!this.anyUp) {
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
  takeLeftovers(): JobRecord[] {
    return this.#leftovers.takeAll()
  }

  // ---- how many

  /** Jobs wait and no worker has room. */
  backlog(): void {
    this.scale.backlog(this.serving().filter((worker) => worker.state === 'starting').length)
  }

  /** Workers above `min` that have been idle for `keepAlive` leave. */
  retireIdle(): void {
    if (this.#leftovers.empty) for (const worker of this.scale.idle(this.serving())) this.retire(worker, 'shrink')
  }

  restart(): Promise<void> {
    for (const worker of this.#all()) {
      // One that holds no job, because it stands by or is still starting, is simply replaced.
      if (worker.spare || worker.state === 'starting') this.retire(worker, 'shrink')
    }
    const done = this.#restarts.begin(this.serving().filter((worker) => worker.isUp))
    this.changed()
    return done
  }

  // ---- the end

  /** All jobs are done: every worker is asked to leave. */
  dismiss(): void {
    this.#dismissed = true
    this.#restarts.fail(closedError('pool.restart()'))
    for (const worker of this.#all()) {
      worker.expected = true
      if (worker.state === 'starting') worker.kill()
      else worker.quit(5 * this.#pool.settings.cancelGrace)
    }
  }

  /** Every worker is ended now. */
  killAll(): void {
    this.#restarts.fail(closedError('pool.restart()'))
    for (const worker of this.#all()) {
      worker.expected = true
      worker.kill()
    }
  }
}
