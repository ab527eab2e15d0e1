import type { Debugger, Session } from 'node:inspector'
import type { Frame } from './frames.js'
import type { MainThread } from './main-thread.js'

/** Sees the frames of the paused main thread; true: terminate its JavaScript before it resumes. */
export type Inspect = (frames: readonly Frame[]) => boolean

interface Look {
  inspect: Inspect
  /** Called when the main thread runs on; no frames: it was not executing JavaScript. */
  done: (frames: readonly Frame[] | undefined, terminated: boolean) => void
  expiry: NodeJS.Timeout | undefined
  /** Judged: nothing is left but to run on. */
  judged: boolean
  extended: boolean
}

/** How often to ask whether the main thread has turned instead of pausing, in ms. */
const TURN_POLL = 5
/** A terminated call unwinds at once, however busy the machine is. */
const UNWIND_WITHIN = 2000
/** Looks often come in bursts and connecting costs 15-60 ms, but a connected debugger makes awaits several times slower. */
const LINGER = 60

/**
 * Looks at the main thread's stack with the inspector, connected only when needed, one look at a time. All is decided
 * while the main thread is paused: it cannot leave the place that has been judged.
 */
export class MainDebugger {
  readonly #main: MainThread
  readonly #usable: boolean
  readonly #waiting: Look[] = []
  readonly #urls = new Map<string, string>()
  #current: Look | undefined
  /** The main thread has answered something since the current look began. */
  #answers = false
  #session: Session | undefined
  #poll: NodeJS.Timeout | undefined
  #unwinding: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(main: MainThread, usable: boolean) {
    this.#main = main
    this.#usable = usable
  }

  /** `within`: ms from now until the main thread must be paused; three times as long if it is slow, but answers. */
  look(within: number, judge: Inspect, done: Look['done']): void {
    const look: Look = { inspect: judge, done, expiry: undefined, judged: false, extended: false }
    look.expiry = setTimeout(() => this.#expired(look, within), within)
    this.#waiting.push(look)
    this.#next()
  }

  /** Node prints a line to stderr when a process exits with an inspector connected. */
  detach(): void {
    clearTimeout(this.#lingering)
    if (this.#current === undefined) this.#disconnect()
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
    this.#answers = false
    const session = this.#connect()
    if (session === undefined) {
      this.#ended(look, undefined, false)
      return
    }
    session.post('Debugger.pause', () => {
      this.#answers = this.#session === session
    })
    // A main thread that executes JavaScript pauses; one that turns was idle, and would pause at some later, unrelated place.
    const turn = this.#main.ping()
    this.#poll = setInterval(() => {
      if (!look.judged && this.#main.hasTurned(turn)) this.#abandon(look)
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
    const look = this.#current
    if (look === undefined || look.judged) {
      // A `debugger` statement of the task, perhaps on its way out.
      session.post('Debugger.resume')
      return
    }
    const frames = callFrames.map((frame) => this.#frame(frame))
    clearTimeout(look.expiry)
    look.judged = true
    let terminate = false
    try {
      terminate = look.inspect(frames)
    } finally {
      const ended = () => this.#ended(look, frames, terminate)
      this.#unwinding = setTimeout(() => {
        this.#disconnect()
        ended()
      }, UNWIND_WITHIN)
      // Answered when the terminated call has unwound; disconnecting before would take the termination back.
      if (terminate) session.post('Runtime.terminateExecution', ended)
      session.post('Debugger.resume', terminate ? undefined : ended)
    }
  }

  #expired(look: Look, within: number): void {
    const place = this.#waiting.indexOf(look)
    if (this.#answers && !look.extended) {
      // Not in native code: the machine is busy.
      look.extended = true
      look.expiry = setTimeout(() => this.#expired(look, within), within * 2)
    } else if (place >= 0) {
      // Behind a look that the main thread does not answer: this one would find the same.
      this.#waiting.splice(place, 1)
      look.done(undefined, false)
    } else {
      this.#abandon(look)
    }
  }

  /** An order to pause that has not hit is withdrawn with its session: it must not hit elsewhere. */
  #abandon(look: Look): void {
    this.#disconnect()
    this.#ended(look, undefined, false)
  }

  #ended(look: Look, frames: readonly Frame[] | undefined, terminated: boolean): void {
    if (this.#current !== look) return
    clearTimeout(look.expiry)
    clearInterval(this.#poll)
    clearTimeout(this.#unwinding)
    this.#current = undefined
    look.done(frames, terminated)
    this.#next()
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
