import { performance } from 'node:perf_hooks'
import type { Consumption } from '../../node/broker.js'
import { exponentialDelay, jittered } from '../../util/backoff.js'
import { clearTimeout, microtask, setTimeout } from '../../util/node-time.js'
import { withTimeout } from '../../util/with-timeout.js'
import type { ConnectionSettings } from '../connection/connection.js'
import { ReconnectingConnection } from '../connection/reconnecting-connection.js'
import { BrokerError, FaktoryError } from '../errors.js'
import { AFTER_RESERVATION } from './job.js'
import type { QueueOrder } from './queue-order.js'

/** ms. The server answers after 2 s at the latest: after this the peer is gone. */
const FETCH_TIMEOUT = 7_000
const FETCH = { timeout: FETCH_TIMEOUT, atOnce: true }
/** ms before a FETCH that the server refused is tried again, the first and the longest; half of it at random. */
const FIRST_DELAY = 200
const MAX_DELAY = 10_000

/** A job as it came. */
export interface FetchedJob {
  readonly payload: string
  /** When the FETCH was sent, ms on the monotonic clock: its reservation did not begin before. */
  readonly fetchedAt: number
  /** It takes up no room any more. A second call does nothing. */
  release(): void
}

export interface FetcherSettings {
  /** Connections that fetch at once, at most. */
  readonly connections: number
  readonly connection: ConnectionSettings
  readonly queues: QueueOrder
  receive(job: FetchedJob): void
  /** False: nothing is to be fetched for now; `wake` is called when that changes. */
  mayFetch(): boolean
  /**
   * False: no connection is to be made for now; `connect` is called when that changes. The server keeps the state of a worker with the connection that said
   * HELLO first, and hands no job to that one when it is quiet, for ever: it must not be one that fetches.
   */
  mayConnect(): boolean
  warn(message: string): void
}

interface Fetcher {
  readonly connection: ReconnectingConnection
  isBusy: boolean
  /** When its last FETCH was sent, ms on the monotonic clock. */
  fetchedAt: number
  /** Take the answer to a FETCH. One pair for all of them. */
  readonly answered: (payload: string | null) => void
  readonly refused: (error: unknown) => void
  /** It was lost or could not be made, and is tried again. */
  isDown: boolean
  failures: number
  /** Waits after a refusal. */
  timer: NodeJS.Timeout | undefined
}

/**
 * Several connections that fetch, one FETCH each at a time. Each FETCH holds room for the job that it may bring. It is always waited for: the server reserves
 * what it hands to a connection that is gone.
 */
export class Fetchers implements Consumption {
  readonly #settings: FetcherSettings
  readonly #fetchers: Fetcher[] = []
  #capacity: number
  /** Jobs that take up room. */
  #held = 0
  #inFlight = 0
  #isPaused = false
  #isStopped = false
  #isClosed = false
  /** Called when no FETCH is in flight, or at `resume`. */
  #whenIdle: (() => void)[] = []

  constructor(capacity: number, settings: FetcherSettings) {
    this.#capacity = capacity
    this.#settings = settings
    this.connect()
    this.wake()
  }

  setCapacity(capacity: number): void {
    this.#capacity = capacity
    this.connect()
    this.wake()
  }

  /** What a FETCH in flight brings is delivered, also after a pause. */
  async pause(): Promise<void> {
    this.#isPaused = true
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  resume(): void {
    this.#isPaused = false
    this.#pauseIsOver()
    this.wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.pause()
  }

  /** Whether anything can be fetched: false when each of the connections is lost or could not be made. */
  get connected(): boolean {
    return this.#fetchers.length === 0 || this.#fetchers.some(({ isDown }) => !isDown)
  }

  /** Connections, also those that are down. */
  get size(): number {
    return this.#fetchers.length
  }

  /** Makes the connections that are missing. */
  connect(): void {
    for (const { connection } of this.#fetchers) connection.proceed()
    const wanted = this.#isClosed ? 0 : Math.min(this.#settings.connections, this.#capacity)
    while (this.#fetchers.length < wanted) this.#fetchers.push(this.#newFetcher())
  }

  #newFetcher(): Fetcher {
    const { connection: settings, mayConnect, warn } = this.#settings
    const connection = new ReconnectingConnection(settings, { retriesPermanentErrors: true, mayConnect })
    const fetcher: Fetcher = {
      connection,
      isBusy: false,
      fetchedAt: 0,
      answered: (payload) => this.#answered(fetcher, payload),
      refused: (error) => this.#refused(fetcher, error),
      isDown: false,
      failures: 0,
      timer: undefined,
    }
    connection
      .on('up', () => {
        fetcher.isDown = false
        this.wake()
      })
      .on('retry', (error) => {
        fetcher.isDown = true
        // Otherwise it is the server that is away, which others report.
        if (mayConnect()) warn(`A connection that fetches jobs is down, and is tried again: ${error.message}`)
      })
    connection.start().catch(() => {})
    return fetcher
  }

  /** Fetches while there is room and a connection that is free. */
  wake(): void {
    if (this.#isPaused || this.#isStopped || this.#isClosed) return
    for (const fetcher of this.#fetchers) {
      if (this.#held + this.#inFlight >= this.#capacity || !this.#settings.mayFetch()) return
      if (!fetcher.isBusy && fetcher.timer === undefined && fetcher.connection.current !== undefined) this.#fetch(fetcher)
    }
  }

  #fetch(fetcher: Fetcher): void {
    fetcher.isBusy = true
    this.#inFlight++
    fetcher.fetchedAt = performance.now()
    fetcher.connection.current!.command('FETCH', this.#settings.queues.next(), FETCH).then(fetcher.answered, fetcher.refused)
  }

  #answered(fetcher: Fetcher, payload: string | null): void {
    fetcher.failures = 0
    this.#isFree(fetcher)
    if (payload === null) this.wake()
    else this.#receive(payload, fetcher.fetchedAt)
    if (this.#inFlight === 0) this.#pauseIsOver()
  }

  #refused(fetcher: Fetcher, error: unknown): void {
    this.#failed(fetcher, error)
    this.#isFree(fetcher)
    this.wake()
    if (this.#inFlight === 0) this.#pauseIsOver()
  }

  #isFree(fetcher: Fetcher): void {
    fetcher.isBusy = false
    this.#inFlight--
  }

  #pauseIsOver(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #receive(payload: string, fetchedAt: number): void {
    this.#held++
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      this.#held--
      // Later: what the end of one job lets begin is one round.
      microtask(() => this.wake())
    }
    // Before the job is looked at: meanwhile the server works on the next one.
    this.wake()
    this.#settings.receive({ payload, fetchedAt, release })
  }

  /** A lost connection is made again with a backoff of its own. */
  #failed(fetcher: Fetcher, error: unknown): void {
    if (!(error instanceof FaktoryError)) {
      if (!this.#isStopped) this.#settings.warn(`A connection was lost while it fetched: a job that it was handed is reserved. ${AFTER_RESERVATION}`)
      return
    }
    this.#settings.warn(`A FETCH was refused, and is tried again: ${error.serverMessage}.`)
    const wait = jittered(exponentialDelay(++fetcher.failures, FIRST_DELAY, MAX_DELAY), 0.5)
    fetcher.timer = setTimeout(() => {
      fetcher.timer = undefined
      this.wake()
    }, wait)
  }

  /** Waits for each FETCH in flight, for `ms` at most, and closes. Resolves with how many were not answered. */
  async close(ms = FETCH_TIMEOUT): Promise<number> {
    const endsAt = performance.now() + ms
    await withTimeout(this.stop(), ms, () => {})
    this.#isClosed = true
    const unanswered = this.#inFlight
    const closed = new BrokerError('The node has ended.')
    for (const { timer } of this.#fetchers) clearTimeout(timer)
    await Promise.all(this.#fetchers.map(({ connection }) => connection.close(closed, Math.max(0, endsAt - performance.now()))))
    return unanswered
  }
}
