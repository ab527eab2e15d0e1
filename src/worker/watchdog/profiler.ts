import type { Session } from 'node:inspector'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import { type CpuProfile, NATIVE_CODE_MS } from '../../wire/cpu-profile.js'
import { boundProfile } from './bound-profile.js'
import { type SharedRecords, Word } from './shared-records.js'

/** Samples of one profile, at most; there is no more than one in a ms. */
const MAX_SAMPLES = 1_000
/**
 * V8 hands over a profile whole: the main thread writes it as text and this thread parses it, and neither does anything else meanwhile. A sample of a deep stack
 * that is like no other brings 255 nodes: with 1,000 of them that takes 0.8 s. So a first profile, which is thrown away, tells how many nodes a sample brings.
 */
const PROBE_MS = 50
/** Nodes that are read at once: some 2 MB, or 40 ms. */
const MAX_READ = 10_000
/** Nodes of the answer: some 200 bytes each. */
const MAX_NODES = 4_000

export type ProfileAnswer = { readonly profile: CpuProfile } | { readonly error: string }

export interface ProfilerSettings {
  /** The inspector may be used. */
  readonly inspector: boolean
  /** Node measures the coverage of the main thread's code (NODE_V8_COVERAGE). */
  readonly coverage: boolean
}

/**
 * Samples what the main thread executes, with the inspector's CPU profiler and in a session of its own. The main thread runs on: it starts and reads the
 * profiler at the next place where V8 handles interrupts, in a busy loop too, but not in native code.
 */
export class Profiler {
  readonly #records: SharedRecords
  readonly #settings: ProfilerSettings
  #session: Session | undefined
  #timer: NodeJS.Timeout | undefined
  #expiry: NodeJS.Timeout | undefined
  #done: (answer: ProfileAnswer) => void = () => {}

  constructor(records: SharedRecords, settings: ProfilerSettings) {
    this.#records = records
    this.#settings = settings
  }

  /** One profile at a time. `done` is called once, unless this process is about to exit. */
  start(ms: number, done: (answer: ProfileAnswer) => void): void {
    if (!this.#settings.inspector) {
      done({ error: "it may not use the inspector: under Node's permission model its workers need --allow-inspector." })
      return
    }
    if (this.#settings.coverage) {
      done({ error: 'Node measures the coverage of its code (NODE_V8_COVERAGE), which a profile would end.' })
      return
    }
    if (this.#session !== undefined) {
      done({ error: 'it is being profiled already.' })
      return
    }
    this.#done = done
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    this.#session = session
    Atomics.store(this.#records.ints, Word.PROFILED, 1)
    this.#expiry = setTimeout(() => this.#expired(ms), PROBE_MS + ms + NATIVE_CODE_MS)
    session.connectToMainThread()
    session.post('Profiler.enable')
    this.#sample(session, PROBE_MS, PROBE_MS, false, ({ nodes, samples }) => {
      const nodesPerSample = nodes.length / Math.max(1, samples.length)
      const wanted = Math.max(1, Math.min(MAX_SAMPLES, ms, Math.floor(MAX_READ / nodesPerSample)))
      this.#sample(session, ms, wanted, true, (profile) => this.#answer({ profile: boundProfile(profile, MAX_NODES) }))
    })
  }

  /** The process is about to exit, and no answer follows. With a session that is connected, Node would print a line to stderr. */
  end(): void {
    this.#disconnect()
  }

  #sample(session: Session, ms: number, samples: number, complete: boolean, read: (profile: CpuProfile) => void): void {
    const failed = (error: Error | null): boolean => {
      if (this.#session !== session) return true
      if (error !== null) this.#answer({ error: `V8 refused: ${error.message}.` })
      return error !== null
    }
    session.post('Profiler.setSamplingInterval', { interval: Math.round((ms * 1_000) / samples) })
    session.post('Profiler.start', (started) => {
      if (failed(started)) return
      if (complete) this.#deoptimize(session)
      this.#timer = setTimeout(() => {
        session.post('Profiler.stop', (stopped, result) => {
          if (!failed(stopped)) read(result.profile as CpuProfile)
        })
      }, ms)
    })
  }

  /**
   * The profiler does not know a loop that V8 had replaced by optimized code while it ran: its samples would count for the caller. When V8 begins to count calls, it
   * discards all optimized code, and the profiler is told of what is made next. A large program is slower for half a second.
   */
  #deoptimize(session: Session): void {
    session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false })
    session.post('Profiler.stopPreciseCoverage')
  }

  #expired(ms: number): void {
    const seconds = (ms + NATIVE_CODE_MS) / 1_000
    this.#answer({ error: `its main thread was in native code, or was stopped, and did not answer within ${seconds} s.` })
  }

  #answer(answer: ProfileAnswer): void {
    this.#disconnect()
    this.#done(answer)
  }

  /** Ends the profiler, too. */
  #disconnect(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#expiry)
    this.#session?.disconnect()
    this.#session = undefined
    Atomics.store(this.#records.ints, Word.PROFILED, 0)
  }
}
