import type { NodeStats } from '../../runtime/report/report.js'
import { clearInterval, setInterval } from '../../util/node-time.js'
import type { CommandConnections } from '../connection/command-connections.js'
import { FaktoryError } from '../errors.js'

/** ms that a beat may take. */
const TIMEOUT = 10_000

/** What the server wants of a worker. */
export type WorkerState = 'quiet' | 'terminate'

export interface HeartbeatSettings {
  readonly wid: string
  /** ms between two beats. */
  readonly interval: number
  /** Bytes of resident memory. */
  memory(): number
  state(): NodeStats['state']
  /** The server asks for this state: called once for each. */
  obey(state: WorkerState): void
  warn(message: string): void
}

/** How the node's state is called in a beat; undefined: running. */
const STATES: Partial<Record<NodeStats['state'], WorkerState>> = { quiet: 'quiet', paused: 'quiet', draining: 'terminate', stopped: 'terminate' }

/** Accepts `{"state":"quiet"}`, as a bulk or a simple string. */
const stateIn = (reply: string | null): WorkerState | undefined => {
  try {
    const { state } = JSON.parse(reply ?? '') as { state?: unknown }
    return state === 'quiet' || state === 'terminate' ? state : undefined
  } catch {
    // +OK
    return undefined
  }
}

/** Tells the server that the worker lives, from the first HELLO until the exit. Whatever comes of one beat, the next follows. */
export class Heartbeat {
  readonly #commands: CommandConnections
  readonly #settings: HeartbeatSettings
  readonly #timer: NodeJS.Timeout
  /** The state that the server was told, or has asked for. The server repeats its state in the answer to each beat, and never goes back. */
  #known: WorkerState | undefined
  #isBeating = false

  constructor(commands: CommandConnections, settings: HeartbeatSettings) {
    this.#commands = commands
    this.#settings = settings
    this.#timer = setInterval(() => void this.beat(), settings.interval)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** One at a time: what a second could tell is in the next. */
  async beat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    const { warn } = this.#settings
    try {
      await this.#beatOnce()
    } catch (error) {
      if (isUnknownWorker(error)) {
        warn('Faktory has taken this worker for dead, as it was silent for a minute: it is announced again.')
        this.#commands.renew()
        await this.#beatOnce().catch((again: Error) => warn(`A beat has failed: ${again.message}`))
      } else warn(`A beat has failed: ${(error as Error).message}`)
    } finally {
      this.#isBeating = false
    }
  }

  async #beatOnce(): Promise<void> {
    const { wid, memory, state, obey } = this.#settings
    const own = STATES[state()]
    const beat = JSON.stringify({ wid, current_state: own, rss_kb: Math.round(memory() / 1_024) })
    if (own !== undefined) this.#note(own)
    const wanted = stateIn(await this.#commands.command('BEAT', beat, { timeout: TIMEOUT }))
    if (wanted !== undefined && this.#note(wanted)) obey(wanted)
  }

  /** False: it is known already, or less than what is known. */
  #note(state: WorkerState): boolean {
    if (this.#known === state || this.#known === 'terminate') return false
    this.#known = state
    return true
  }
}

/** In any spelling: that of the specification is not that of the server. */
const isUnknownWorker = (error: unknown): boolean => error instanceof FaktoryError && /unknown\s+worker/i.test(error.serverMessage)
