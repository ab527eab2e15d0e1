import type { Hub, Reader } from '../../hub/index.js'
import type { LaunchedProcess } from './launch/launcher.js'
import { PhaseDeadline } from './phase-deadline.js'
import type { WorkerOutput } from './worker-output.js'

/** Longest wait for the output of a dead worker once its results are read, ms. Processes that the worker left behind may hold the pipes open. */
const OUTPUT_WAIT_MS = 250

/** Reads everything that a dead worker had written, then closes its pipes. */
export class ExitDrain {
  done = false
  readonly #deadline: PhaseDeadline
  readonly #process: LaunchedProcess
  readonly #pipes: readonly Reader[]
  readonly #output: WorkerOutput
  readonly #onOutputRead: () => void
  #gone = false

  constructor(hub: Hub, process: LaunchedProcess, pipes: readonly Reader[], output: WorkerOutput, onOutputRead: () => void) {
    this.#deadline = new PhaseDeadline(hub)
    this.#process = process
    this.#pipes = pipes
    this.#output = output
    this.#onOutputRead = onOutputRead
  }

  /** The process is gone. Its pipes are read for at most `within` ms; 0: there never was a process. */
  begin(within: number): void {
    this.#gone = true
    if (within === 0) this.finish()
    else {
      this.#deadline.set(within, this.#pipes, () => this.finish())
      this.check()
    }
  }

  /** Finishes once everything that the process had written is read. */
  check(): void {
    if (!this.#gone || this.done || !this.#pipes.every((pipe) => pipe.ended)) return
    if (this.#output.ended) this.finish()
    else this.#deadline.set(OUTPUT_WAIT_MS, this.#output.readers, () => this.finish())
  }

  finish(): void {
    if (this.done) return
    this.done = true
    this.#deadline.cancel()
    for (const pipe of this.#pipes) pipe.stop()
    this.#output.finish()
    const { jobs, results, lifeline, stdout, stderr } = this.#process
    for (const stream of [jobs, results, lifeline, stdout, stderr]) stream?.destroy()
    this.#onOutputRead()
  }
}
