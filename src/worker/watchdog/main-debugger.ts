import type { Debugger, Session } from 'node:inspector'
import type { Frame } from './frames.js'

/** Sees the frames of the paused main thread; true: terminate its JavaScript before it resumes. */
export type Judge = (frames: readonly Frame[]) => boolean

interface Look {
  judge: Judge
  /** Called when the main thread runs on; no frames: it was not executing JavaScript. */
  done: (frames: readonly Frame[] | undefined, terminated: boolean) => void
  expiry: NodeJS.Timeout | undefined
}

/** A main thread that is executing JavaScript stops at once when told; one that does not was idle, and would stop at some later, unrelated place. */
const HIT_WITHIN = 30
/** A terminated call unwinds at once, however busy the machine is. */
const UNWIND_WITHIN = 2000
/** Looks often come in bursts and connecting costs 15-60 ms, but a connected debugger makes awaits several times slower. */
const LINGER = 60

/**
 * Looks at the main thread's stack with the inspector, connected only when needed, one look at a time. All is decided
 * while the main thread is paused: it cannot leave the place that has been judged.
 */
export class MainDebugger {
  readonly #usable: boolean
  readonly #waiting: Look[] = []
  readonly #urls = new Map<string, string>()
  #current: Look | undefined
  #session: Session | undefined
  #timer: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(usable: boolean) {
    this.#usable = usable
  }

  /** `within`: ms from now until the main thread must be paused. */
  look(within: number, judge: Judge, done: Look['done']): void {
    const look: Look = { judge, done, expiry: undefined }
    look.expiry = setTimeout(() => this.#expired(look), within)
    this.#waiting.push(look)
    this.#next()
  }

  #next(): void {
    if (this.#current !== undefined) return
    const look = this.#waiting.shift()
    clearTimeout(this.#lingering)
    if (look === undefined) {
      this.#lingering = setTimeout(() => this.#disconnect(), LINGER)
      return
    }
    this.#current = look
    const session = this.#connect()
    if (session === undefined) {
      this.#ended(look, undefined, false)
      return
    }
    // The answer comes when the main thread has taken the order; one that executes JavaScript is paused right after.
    session.post('Debugger.pause', () => {
      if (this.#current === look) this.#expect(HIT_WITHIN, () => this.#abandon(look))
    })
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
    session.post('Debugger.enable')
    return session
  }

  #paused(session: Session, callFrames: Debugger.CallFrame[]): void {
    const look = this.#current
    if (look === undefined) {
      // A `debugger` statement of the task, or a pause that nobody waits for any more.
      session.post('Debugger.resume')
      return
    }
    const frames = callFrames.map((frame) => this.#frame(frame))
    clearTimeout(look.expiry)
    let terminate = false
    try {
      terminate = look.judge(frames)
    } finally {
      const ended = () => this.#ended(look, frames, terminate)
      this.#expect(UNWIND_WITHIN, () => {
        this.#disconnect()
        ended()
      })
      // Answered when the terminated call has unwound; disconnecting before would take the termination back.
      if (terminate) session.post('Runtime.terminateExecution', ended)
      session.post('Debugger.resume', terminate ? undefined : ended)
    }
  }

  /** Behind a look that the main thread does not answer, because it is in native code, the next one finds the same. */
  #expired(look: Look): void {
    const place = this.#waiting.indexOf(look)
    if (place < 0) {
      this.#abandon(look)
      return
    }
    this.#waiting.splice(place, 1)
    look.done(undefined, false)
  }

  /** An order to pause that has not hit is withdrawn with its session: it must not hit elsewhere. */
  #abandon(look: Look): void {
    this.#disconnect()
    this.#ended(look, undefined, false)
  }

  #ended(look: Look, frames: readonly Frame[] | undefined, terminated: boolean): void {
    if (this.#current !== look) return
    clearTimeout(look.expiry)
    clearTimeout(this.#timer)
    this.#current = undefined
    look.done(frames, terminated)
    this.#next()
  }

  #expect(within: number, otherwise: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(otherwise, within)
  }

  #disconnect(): void {
    const session = this.#session
    this.#session = undefined
    this.#urls.clear()
    session?.disconnect()
  }

  #frame({ functionName, location }: Debugger.CallFrame): Frame {
    return {
      name: functionName,
      url: this.#urls.get(location.scriptId) ?? '',
      line: location.lineNumber + 1,
      column: (location.columnNumber ?? 0) + 1,
    }
  }
}
