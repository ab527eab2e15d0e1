import { AsyncLocalStorage } from 'node:async_hooks'
import { ForeignStores } from './foreign-stores.js'
import type { WorkerJob } from './job.js'
import type { JobScope } from './loop-options.js'

/** Tells jobs apart across awaits with AsyncLocalStorage. That slows every promise, so it is used only from the first call of `enable` on. */
export class AsyncScope implements JobScope {
  readonly #foreign = new ForeignStores()
  readonly #storage = new AsyncLocalStorage<WorkerJob | undefined>()
  /** Taken before `ForeignStores` wraps it, because our own stores are no leak. */
  readonly #enterWith: (job: WorkerJob | undefined) => void
  enabled = false
  /** The job whose synchronous call is under way. */
  #inside: WorkerJob | undefined

  constructor() {
    const enterWith = AsyncLocalStorage.prototype.enterWith
    this.#enterWith = (job) => enterWith.call(this.#storage, job)
    this.#foreign.listen()
  }

  enable(): void {
    this.enabled = true
  }

  enter(job: WorkerJob): void {
    this.#inside = job
    if (this.enabled) this.#enterWith(job)
  }

  leave(): boolean {
    this.#inside = undefined
    if (this.enabled) this.#enterWith(undefined)
    this.#foreign.clear()
    return this.#foreign.isClean(this.#storage)
  }

  run(job: WorkerJob, fn: () => void): void {
    if (this.enabled) this.#storage.run(job, fn)
    else fn()
  }

  current(): WorkerJob | undefined {
    return this.enabled ? this.#storage.getStore() : this.#inside
  }
}
