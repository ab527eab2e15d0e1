import type { LaunchedProcess, ProcessExit, SharedMemory } from '../../src/pool/worker/launch/launcher.js'
import { FakeReadable, FakeWritable } from '../hub/fakes.js'

/** A process that does nothing by itself: the test calls `exit`. */
export class FakeProcess implements LaunchedProcess {
  readonly pid = 1
  readonly jobs = new FakeWritable()
  readonly results = new FakeReadable()
  readonly lifeline = Object.assign(new FakeWritable(), { pause() {}, resume() {} })
  readonly stdout = undefined
  readonly stderr = undefined
  readonly record = undefined
  memory: SharedMemory | undefined
  killed = false
  exit: (exit: ProcessExit) => void = () => {}

  onExit(fn: (exit: ProcessExit) => void): void {
    this.exit = fn
  }

  kill(): void {
    this.killed = true
  }

  killRest(): void {}
}
