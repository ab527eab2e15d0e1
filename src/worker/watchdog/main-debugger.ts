import type { Debugger, Session } from 'node:inspector'
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../util/node-time.js'
import type { Frame } from './frames.js'
import type { MainThread } from './main-thread.js'

/** Receives the frames of the paused main thread. Returns true to terminate its JavaScript. */
export type FrameInspector = (frames: readonly Frame[]) => boolean

interface Inspection {
  onFrames: FrameInspector
  /** Called when the main thread has resumed. No frames: it was not executing JavaScript. */
  done: (frames: readonly Frame[] | undefined, terminated: boolean) => void
  expiry: NodeJS.Timeout | undefined
  /** `onFrames` was called: the main thread resumes. */
  inspected: boolean
  extended: boolean
}

/** How often to check whether the main thread's event loop has turned instead of pausing, ms. */
const TURN_POLL = 5
/** How long a terminated call may take to unwind, ms. It unwinds at once; this is for a busy machine. */
const UNWIND_TIMEOUT = 2000
/** How long to stay connected, ms: inspections come in bursts and connecting takes 15-60 ms, but a connected debugger slows awaits several times. */
const LINGER = 60

/**
 * Reads the main thread's stack with the inspector, connected only when needed, one inspection at a time. Whether to
 * terminate is decided while the main thread is paused, so that it cannot leave the place that was inspected.
 */
export class MainDebugger {
  readonly #main: MainThread
  readonly #usable: boolean
  readonly #waiting: Inspection[] = []
  readonly #urls = new Map<string, string>()
  #current: Inspection | undefined
  /** The main thread has answered a request since the current inspection began. */
  #answers = false
  #session: Session | undefined
  #poll: NodeJS.Timeout | undefined
  #unwinding: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(main: MainThread, usable: boolean) {
    this.#main = main
    this.#usable = usable
  }

  /** `timeout`: ms until the main thread must be paused; three times as long if it is slow, but answers. */
  inspect(timeout: number, onFrames: FrameInspector, done: Inspection['done']): void {
    const inspection: Inspection = { onFrames, done, expiry: undefined, inspected: false, extended: false }
    inspection.expiry = setTimeout(() => this.#expired(inspection, timeout), timeout)
    this.#waiting.push(inspection)
    this.#next()
  }

  /** Node prints a line to stderr when a process exits with an inspector connected. */
  detach(): void {
    clearTimeout(this.#lingering)
    if (this.#current === undefined) this.#disconnect()
  }

  #next(): void {
    if (this.#current !== undefined) return
    const inspection = this.#waiting.shift()
    clearTimeout(this.#lingering)
    if (inspection === undefined) {
      this.#lingering = setTimeout(() => this.#disconnect(), LINGER)
      return
    }
    this.#current = inspection
    this.#answers = false
    const session = this.#connect()
    if (session === undefined) {
      this.#ended(inspection, undefined, false)
      return
    }
    session.post('Debugger.pause', () => {
      this.#answers = this.#session === session
    })
    // A main thread that executes JavaScript pauses. If its event loop turns, it was idle: the pause would take effect later, in unrelated code.
    const turn = this.#main.ping()
    this.#poll = setInterval(() => {
      if (!inspection.inspected && this.#main.hasTurned(turn)) this.#withdraw(inspection)
    }, TURN_POLL)
  }

  #connect(): Session | undefined {
    if (!this.#usable) return undefined
    if (this.#session !== undefined) return this.#session
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    session.connectToMainThread()
    this.#session = session
    session.on('Debugger.scriptParsed', ({ params }) => this.#urls.set(params.scriptId, params.url))
    session.on('Debugger.paused', ({ params }) => {
      if (this.#session === session) this.#paused(session, params.callFrames)
    })
    // Answered at once unless the main thread is in native code; enabling takes 20 ms and more.
    session.post('Runtime.getIsolateId', () => {
      this.#answers = this.#session === session
    })
    session.post('Debugger.enable')
    return session
  }

  #paused(session: Session, callFrames: Debugger.CallFrame[]): void {
    const inspection = this.#current
    if (inspection === undefined || inspection.inspected) {
      // A `debugger` statement of the task, perhaps while its call unwinds.
      session.post('Debugger.resume')
      return
    }
    const frames = callFrames.map((frame) => this.#frame(frame))
    clearTimeout(inspection.expiry)
    inspection.inspected = true
    let terminate = false
    try {
      terminate = inspection.onFrames(frames)
    } finally {
      const ended = () => this.#ended(inspection, frames, terminate)
      this.#unwinding = setTimeout(() => {
        this.#disconnect()
        ended()
      }, UNWIND_TIMEOUT)
      // Answered when the terminated call has unwound; disconnecting earlier would cancel the termination.
      if (terminate) session.post('Runtime.terminateExecution', ended)
      session.post('Debugger.resume', terminate ? undefined : ended)
    }
  }

  #expired(inspection: Inspection, timeout: number): void {
    const place = this.#waiting.indexOf(inspection)
    if (this.#answers && !inspection.extended) {
      // Not in native code: the machine is busy.
      inspection.extended = true
      inspection.expiry = setTimeout(() => this.#expired(inspection, timeout), timeout * 2)
    } else if (place >= 0) {
      // It waited behind an inspection that the main thread did not answer: this one would get no answer either.
      this.#waiting.splice(place, 1)
      inspection.done(undefined, false)
    } else {
      this.#withdraw(inspection)
    }
  }

  /** Ends the session. This also cancels a pause request without effect so far, which would pause the main thread later. */
  #withdraw(inspection: Inspection): void {
    this.#disconnect()
    this.#ended(inspection, undefined, false)
  }

  #ended(inspection: Inspection, frames: readonly Frame[] | undefined, terminated: boolean): void {
    if (this.#current !== inspection) return
    clearTimeout(inspection.expiry)
    clearInterval(this.#poll)
    clearTimeout(this.#unwinding)
    this.#current = undefined
    inspection.done(frames, terminated)
    this.#next()
  }

  #disconnect(): void {
    const session = this.#session
    this.#session = undefined
    this.#urls.clear()
    session?.disconnect()
  }

  #frame({ functionName, location }: Debugger.CallFrame): Frame {
    const url = this.#urls.get(location.scriptId) ?? ''
    return { name: functionName, url, line: location.lineNumber + 1, column: (location.columnNumber ?? 0) + 1 }
  }
}
