import type { LostReason } from '../../wire/errors.js'
import type { WorkerState } from '../types.js'
import type { ProcessExit } from './launch/launcher.js'

/** Why a worker drains. The reason never changes; a defect that is found later is recorded by `markDefective`. */
export type DrainReason =
  /**
   * The worker reached maxJobsPerWorker, maxAgePerWorker, maxMemoryPerWorker or the last delivery number. Or a time limit closed its claim word, and the job
   * answered before the kill.
   */
  | 'recycle'
  /** `pool.restart()` replaces it. */
  | 'restart'
  /** No successor takes its place: fewer workers are wanted, or `restart` replaces a spare worker. */
  | 'shrink'
  /** One of its pipes is gone. */
  | 'damaged'
  /** Its main thread did not turn after a time limit or a cancellation. */
  | 'unresponsive'
  /** It stalled while it ran no job. */
  | 'quarantined'

/** What a worker is doing, from its start to its exit; `ALLOWED_TRANSITIONS` says what may follow. `pool.stats()` calls an `up` worker with jobs in flight `busy`. */
export type WorkerMode =
  /** Its process has been started and loads the task modules, until WORKER_UP comes. */
  | { readonly name: 'starting' }
  /** It takes jobs. */
  | { readonly name: 'up' }
  /** It takes no job of the job queue, gives back jobs that it has not accepted, and runs the others. It never comes back to `up`. */
  | { readonly name: 'draining'; readonly reason: DrainReason }
  /**
   * Its exit is expected: QUIT was written, `discard` killed it, or it sent BYE. A worker killed by `killFor` keeps its mode until it is dead. A WORKER_UP is
   * ignored in this mode. `reason`: why the worker drained before, if it did.
   */
  | { readonly name: 'retiring'; readonly reason: DrainReason | undefined }
  /** Its process is gone, or could not be started. Frames that it had written may still be in the pipes. `expected`: it was `retiring`. */
  | { readonly name: 'dead'; readonly exit: ProcessExit; readonly expected: boolean }

export type WorkerModeName = WorkerMode['name']

/** Why the pool kills a worker. */
export interface KillReason {
  readonly reason: LostReason
  readonly error: Error | undefined
  /** 'caller': `pool.end` asked for it. 'start timeout': HELLO or WORKER_UP did not come in time. */
  readonly cause: 'caller' | 'start timeout' | undefined
  /** The error in short, where it is one job's: it names this job by its id. For the record of the other jobs. */
  readonly brief: string | undefined
}

/** Why a worker gets no more jobs, whatever its mode: its claim word is closed for good, or its main thread does not turn (during a job, or without one). */
export type Defect = 'claims closed' | 'unresponsive' | 'quarantined'

/** Which mode may follow which. */
const ALLOWED_TRANSITIONS: Readonly<Record<WorkerModeName, readonly WorkerModeName[]>> = {
  starting: ['up', 'retiring', 'dead'],
  up: ['draining', 'retiring', 'dead'],
  draining: ['retiring', 'dead'],
  retiring: ['dead'],
  dead: [],
}

/** Shared objects, so that `isUp` compares identity. */
const STARTING: WorkerMode = { name: 'starting' }
const UP: WorkerMode = { name: 'up' }

/** @internal For tests: is called before each change of a worker's mode. */
export const transitions: { observe: ((worker: number, from: WorkerModeName, to: WorkerModeName) => void) | undefined } = { observe: undefined }

/** The mode of one worker and every change of it, the worker's place among the others, and the reasons for which it gets no jobs. */
export abstract class WorkerLifecycle {
  /** The kernel has killed its process because memory was exhausted. */
  oomKilled = false
  abstract readonly id: number
  #mode: WorkerMode = STARTING
  #spare: boolean
  #predecessor: WorkerLifecycle | undefined
  #killReason: KillReason | undefined
  #defect: Defect | undefined
  #pipeBroken = false

  /** `spare`: the worker begins as a spare worker. `predecessor`: the worker whose place it takes. */
  constructor(spare: boolean, predecessor: WorkerLifecycle | undefined) {
    this.#spare = spare
    this.#predecessor = predecessor
  }

  get mode(): WorkerMode {
    return this.#mode
  }

  get isStarting(): boolean {
    return this.#mode === STARTING
  }

  get isUp(): boolean {
    return this.#mode === UP
  }

  get isDraining(): boolean {
    return this.#mode.name === 'draining'
  }

  get isRetiring(): boolean {
    return this.#mode.name === 'retiring'
  }

  /** The process is not known to be gone. */
  get alive(): boolean {
    return this.#mode.name !== 'dead'
  }

  /** How the process ended; undefined while it lives. */
  get exit(): ProcessExit | undefined {
    return this.#mode.name === 'dead' ? this.#mode.exit : undefined
  }

  /** The exit is no failure: the pool ends the worker, or has ended it, for a reason of the pool's own. */
  get expected(): boolean {
    return this.#mode.name === 'retiring' || (this.#mode.name === 'dead' && this.#mode.expected)
  }

  /** The worker drains or retires, and another worker takes its place. */
  get isBeingReplaced(): boolean {
    const mode = this.#mode
    return (mode.name === 'draining' || mode.name === 'retiring') && mode.reason !== undefined && mode.reason !== 'shrink'
  }

  /** As `pool.stats()` shows it. */
  state(jobsInFlight: number): WorkerState {
    return this.#mode === UP && jobsInFlight > 0 ? 'busy' : this.#mode.name
  }

  /** WORKER_UP has come. False: it is ignored, because the worker is being ended. */
  protected comeUp(): boolean {
    return this.#mayBecome('up') && this.#become(UP)
  }

  /** From now on the worker gets no job of the job queue; jobs reserved for it are still written. False: the worker was not up. */
  drain(reason: DrainReason): boolean {
    return this.#mayBecome('draining') && this.#become({ name: 'draining', reason })
  }

  /** Enters `retiring`. False: the worker is already retiring or dead. */
  protected retire(): boolean {
    const reason = this.#mode.name === 'draining' ? this.#mode.reason : undefined
    return this.#mayBecome('retiring') && this.#become({ name: 'retiring', reason })
  }

  /** The process is gone. */
  protected die(exit: ProcessExit): void {
    this.#become({ name: 'dead', exit, expected: this.expected })
  }

  /** A warm spare worker: it takes no jobs of the job queue. */
  get spare(): boolean {
    return this.#spare
  }

  /** The worker that this worker replaces, while the former lives. */
  get predecessor(): WorkerLifecycle | undefined {
    return this.#predecessor
  }

  /** A spare worker becomes a regular one, in the place of `predecessor` if there is one. */
  promote(predecessor: WorkerLifecycle | undefined): void {
    this.#spare = false
    this.#predecessor = predecessor
  }

  /** The worker takes the place of `predecessor`, unless it has taken a place already. */
  replace(predecessor: WorkerLifecycle | undefined): void {
    this.#predecessor ??= predecessor
  }

  /** `predecessor` is gone. */
  forget(predecessor: WorkerLifecycle): void {
    if (this.#predecessor === predecessor) this.#predecessor = undefined
  }

  /** The worker must get no more jobs, whatever its mode. */
  get unusable(): boolean {
    return this.#pipeBroken || this.#defect !== undefined || this.#killReason !== undefined
  }

  /** Why the pool kills the worker. */
  get killReason(): KillReason | undefined {
    return this.#killReason
  }

  get quarantined(): boolean {
    return this.#defect === 'quarantined'
  }

  get unresponsive(): boolean {
    return this.#defect === 'unresponsive'
  }

  /** The first defect stays; only 'claims closed' may be replaced by another defect. */
  markDefective(defect: Defect): void {
    if (this.#defect === undefined || this.#defect === 'claims closed') this.#defect = defect
  }

  /** One of its pipes is gone: a damaged pipe is never used again. */
  protected markPipeBroken(): void {
    this.#pipeBroken = true
  }

  /** The first reason stays. */
  protected setKillReason(reason: LostReason, error: Error | undefined, cause: KillReason['cause'], brief: string | undefined): void {
    this.#killReason ??= { reason, error, cause, brief }
  }

  #mayBecome(next: WorkerModeName): boolean {
    return ALLOWED_TRANSITIONS[this.#mode.name].includes(next)
  }

  #become(next: WorkerMode): true {
    const from = this.#mode.name
    transitions.observe?.(this.id, from, next.name)
    if (!this.#mayBecome(next.name)) throw new Error(`Worker ${this.id} cannot become '${next.name}': it is '${from}'.`)
    this.#mode = next
    return true
  }
}
