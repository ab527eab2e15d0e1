import { inspect } from 'node:util'
import type { Fault } from '../../wire/messages.js'

/** Errors that no task caught, where nobody listens for them: a plain Node process would have printed each, and ended. */
export class UnhandledFaults {
  readonly #told = new WeakSet<object>()

  /** Once for each worker: a task that fails so a thousand times would bury what else the host has to say. */
  warn(worker: { readonly id: number }, { type, error }: Fault, job: { readonly name: string } | undefined): void {
    if (this.#told.has(worker)) return
    this.#told.add(worker)
    const where = job === undefined ? `worker ${worker.id}` : `worker ${worker.id}, in the job '${job.name}'`
    process.emitWarning(`An ${type} in ${where}: no task caught it, and no job was told. Hear of each by pool.on('workerFault', …) or a logger.`, {
      type: 'PreforkWarning',
      code: 'PREFORK_WORKER_FAULT',
      detail: inspect(error),
    })
  }
}
