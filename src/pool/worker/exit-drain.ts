import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'
import type { LaunchedProcess } from './launcher.js'
import type { WorkerOutput } from './worker-output.js'

/** How long the output pipes of a dead worker are waited for once its results are read: what it left alive may hold them open. */
const OUTPUT_WAIT_MS = 250

/** What is left of a worker that is gone: everything it had written is read, and then it is buried, once. */
export class ExitDrain {
  done = false
  readonly #hub: Hub
  readonly #process: LaunchedProcess
  readonly #pipes: readonly Reader[]
  readonly #output: WorkerOutput
  readonly #onBuried: () => void
  #gone = false
  #deadline: PendingDeadline | undefined

  constructor(hub: Hub, process: LaunchedProcess, pipes: readonly Reader[], output: WorkerOutput, onBuried: () => void) {
    this.#hub = hub
    this.#process = process
    this.#pipes = pipes
    this.#output = output
    this.#onBuried = onBuried
  }

  /** The process is gone: its pipes get so long, ms; none where it never was there. */
  begin(within: number): void {
    this.#gone = true
    if (within === 0) this.finish()
    else {
      this.#within(within, this.#pipes)
      this.check()
    }
  }

  /** Is everything read that it had written? */
  check(): void {
    if (!this.#gone || this.done || !this.#pipes.every((pipe) => pipe.ended)) return
    if (this.#output.ended) this.finish()
    else this.#within(OUTPUT_WAIT_MS, this.#output.readers)
  }

  finish(): void {
    if (this.done) return
    this.done = true
    this.#deadline?.cancel()
    for (const pipe of this.#pipes) pipe.stop()
    this.#output.finish()
    const { jobs, results, lifeline, stdout, stderr } = this.#process
    for (const stream of [jobs, results, lifeline, stdout, stderr]) stream?.destroy()
    this.#onBuried()
  }

  #within(ms: number, readers: readonly Reader[]): void {
    this.#deadline?.cancel()
    this.#deadline = this.#hub.deadlineAfterRead(
      ms,
      () => readers,
      () => this.finish(),
    )
  }
}
