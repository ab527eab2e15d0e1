import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { exponentialDelay, jittered } from '../../util/backoff.js'
import { withTimeout } from '../../util/with-timeout.js'
import type { CommandConnections } from '../connection/command-connections.js'
import { BrokerError, ConnectionLostError, FaktoryError } from '../errors.js'
import { mutateArgument, ofJob } from '../operations/mutate.js'

/** ms that the server has for an answer. */
const TIMEOUT = 10_000
/** ms before a report is sent again that the server has refused for now, the first and the longest. */
const FIRST_DELAY = 100
const MAX_DELAY = 5_000
/** ms that the server lets pass after a FAIL before it hands the job out again, at least. */
const SHORTEST_RETRY = 15_000

/** The server does not know the job any more: it was reported, or its reservation has ended. */
const isUnknown = (error: FaktoryError): boolean => /job not found/i.test(error.serverMessage)

/** What is refused for good. Anything else passes: a restart, a storage that fails. */
const isFinal = (error: FaktoryError): boolean => /^(invalid|missing|unknown command)/i.test(error.serverMessage)

type Verb = 'ACK' | 'FAIL' | 'MUTATE'

/**
 * ACK and FAIL. A report that could not be sent is kept and sent again, also after a restart of the server: reservations outlive it. The number of kept
 * reports is bounded by the fetching, which stops while too many are open.
 */
export class Reports {
  readonly #commands: CommandConnections
  readonly #max: number
  readonly #onRoom: () => void
  readonly #shortestRetry: number
  #open = 0
  /** Called when no report is open any more. */
  #allAnswered: (() => void) | undefined
  readonly #closed = new AbortController()

  /**
   * `max`: open reports at which nothing more is to be fetched. `onRoom`: called when there are fewer again. `shortestRetry`: ms that a FAIL whose answer
   * was lost is sent again; default 15,000.
   */
  constructor(commands: CommandConnections, max: number, onRoom: () => void, shortestRetry = SHORTEST_RETRY) {
    this.#shortestRetry = shortestRetry
    this.#commands = commands
    this.#max = max
    this.#onRoom = onRoom
    // One for each report that waits.
    setMaxListeners(0, this.#closed.signal)
  }

  /** Too many reports are not answered. */
  get isFull(): boolean {
    return this.#open >= this.#max
  }

  /** Resolves with true when the server has taken it. ACK of an unknown job is taken, too. */
  ack(jid: string): Promise<boolean> {
    return this.#report('ACK', JSON.stringify({ jid }), Number.POSITIVE_INFINITY)
  }

  /**
   * `until`: ms on the monotonic clock at which the reservation ends: then the FAIL would be that of another run. So would one be whose answer was lost, once
   * the server may have handed the job out again: it is sent again for 15 s. Resolves with false when the server does not know the job any more, or could
   * not be told by then.
   */
  fail(failure: string, until: number): Promise<boolean> {
    return this.#report('FAIL', failure, until)
  }

  /**
   * Moves a job that has just failed from the retries of the server to its dead set, by MUTATE. Sent again for as long as the server leaves it among the retries.
   * Resolves with false when the server could not be told by then. Rejects with OptionError when the jid cannot be written in the command.
   */
  async kill(job: { readonly jid: string; readonly queue: string }): Promise<boolean> {
    return await this.#report('MUTATE', mutateArgument({ cmd: 'kill', target: 'retries', filter: ofJob(job) }), performance.now() + this.#shortestRetry)
  }

  /** One that is taken at the first attempt costs one promise besides the command's. */
  #report(verb: Verb, argument: string, until: number): Promise<boolean> {
    const begun = performance.now()
    if (begun >= until || this.#closed.signal.aborted) return Promise.resolve(false)
    this.#open++
    return this.#attempt(verb, argument, until - begun).then(this.#taken, async (error: unknown) => {
      try {
        return await this.#sendAgain(verb, argument, until, error, begun)
      } finally {
        this.#answered()
      }
    })
  }

  #attempt(verb: Verb, argument: string, left: number): Promise<string | null> {
    return this.#commands.command(verb, argument, { timeout: TIMEOUT, sendTimeout: Math.min(TIMEOUT, left) })
  }

  readonly #taken = (): true => {
    this.#answered()
    return true
  }

  #answered(): void {
    const wasFull = this.isFull
    this.#open--
    if (wasFull) this.#onRoom()
    if (this.#open === 0) this.#allAnswered?.()
  }

  /** `error`: of the first attempt, which began at `begun`. */
  async #sendAgain(verb: Verb, argument: string, until: number, error: unknown, begun: number): Promise<boolean> {
    const { signal } = this.#closed
    const limits = { until, mayBeTaken: false }
    let outcome = this.#outcomeOf(verb, error, begun, limits)
    for (let failures = 1; outcome === undefined; failures++) {
      await sleep(jittered(exponentialDelay(failures, FIRST_DELAY, MAX_DELAY), 0.5), undefined, { signal }).catch(() => {})
      const again = performance.now()
      if (again >= limits.until || signal.aborted) return false
      try {
        await this.#attempt(verb, argument, limits.until - again)
        return true
      } catch (next) {
        outcome = this.#outcomeOf(verb, next, again, limits)
      }
    }
    return outcome
  }

  /** Whether the server has taken a report that failed with `error`; undefined: it is to be sent again. Throws what is final. */
  #outcomeOf(verb: Verb, error: unknown, begun: number, limits: { until: number; mayBeTaken: boolean }): boolean | undefined {
    if (error instanceof FaktoryError) {
      // The attempt whose answer was lost has been taken.
      if (isUnknown(error)) return limits.mayBeTaken
      if (isFinal(error)) throw error
    } else if (!(error instanceof ConnectionLostError || error instanceof BrokerError)) throw error
    else if (error instanceof ConnectionLostError && error.sent && !limits.mayBeTaken) {
      limits.mayBeTaken = true
      if (verb === 'FAIL') limits.until = Math.min(limits.until, begun + this.#shortestRetry)
    }
    return undefined
  }

  /** Waits until everything is sent, for at most `ms`. What is not sent by then is given up: its job runs again after its reservation. Resolves with how many. */
  async close(ms: number): Promise<number> {
    if (this.#open > 0) {
      const answered = new Promise<void>((resolve) => {
        this.#allAnswered = resolve
      })
      await withTimeout(answered, ms, () => {})
    }
    this.#closed.abort()
    return this.#open
  }
}
