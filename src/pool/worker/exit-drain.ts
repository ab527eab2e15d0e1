import type { Hub, PendingDeadline, Reader } from '../../hub/index.js'
import type { LaunchedProcess } from './launcher.js'
import type { WorkerOutput } from './worker-output.js'

/** How long the output of a dead worker is waited for once its results are read, ms: processes that it left behind may hold the pipes open. */
const OUTPUT_WAIT_MS = 250

/** Reads everything that a dead worker had written, then closes its pipes. */
export class ExitDrain {
  done = false
  readonly #hub: Hub
  readonly #process: LaunchedProcess
  readonly #pipes: readonly Reader[]
  readonly #output: WorkerOutput
  readonly #onOutputRead: () => void
  #gone = false
  #deadline: PendingDeadline | undefined

  constructor(hub: Hub, process: LaunchedProcess, pipes: readonly Reader[], output: WorkerOutput, onOutputRead: () => void) {
    this.#hub = hub
    this.#process = process
    this.#pipes = pipes
    this.#output = output
    this.#onOutputRead = onOutputRead
  }

  /** The process is gone: its pipes are read for `within` ms at most; 0 where there never was a process. */
  begin(within: number): void {
    this.#gone = true
    if (within === 0) this.finish()
    else {
      this.#within(within, this.#pipes)
      this.check()
    }
  }

  /** Finishes once everything is read that it had written. */
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
    this.#onOutputRead()
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
