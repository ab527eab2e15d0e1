import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { PublishError } from '../../node/connection/errors.js'
import type { CommandConnections } from '../connection/command-connections.js'
import { ConnectionLostError, FaktoryError } from '../errors.js'
import { readObject } from '../operations/server-info.js'
import type { PreparedJob } from './publish-options.js'

/** ms until a server that is shutting down is asked again. */
const SHUTDOWN_WAIT = 250

/** The command had no effect, and has one when it is sent again. */
const isSafeToRepeat = (error: unknown): boolean =>
  (error instanceof ConnectionLostError && !error.sent) || (error instanceof FaktoryError && error.serverMessage === 'shutdown in progress')

/** A job of PUSHB that the server did not take. */
export interface Refusal {
  readonly jid: string
  readonly reason: string
}

/** Sends jobs. What the server certainly does not have is sent again, until the time is over; what it may have is not, since it would take it twice. */
export class JobPusher {
  readonly #connections: CommandConnections
  /** ms */
  readonly #timeout: number

  constructor(connections: CommandConnections, timeout: number) {
    this.#connections = connections
    this.#timeout = timeout
  }

  /** PUSH. Resolves with false when Faktory Enterprise has such a job already. Rejects with PublishError. */
  async push({ json }: PreparedJob): Promise<boolean> {
    try {
      await this.#send('PUSH', json)
      return true
    } catch (error) {
      if (error instanceof PublishError && error.cause instanceof FaktoryError && error.cause.serverCode === 'NOTUNIQUE') return false
      throw error
    }
  }

  /** PUSHB. Resolves with the jobs that were refused. Rejects with PublishError. */
  async pushBulk(jobs: readonly PreparedJob[]): Promise<Refusal[]> {
    const answer = await this.#send('PUSHB', `[${jobs.map(({ json }) => json).join(',')}]`)
    return Object.entries(readObject('PUSHB', answer)).map(([jid, reason]) => ({ jid, reason: String(reason) }))
  }

  async #send(verb: 'PUSH' | 'PUSHB', argument: string): Promise<string | null> {
    const ends = performance.now() + this.#timeout
    for (;;) {
      try {
        return await this.#connections.commandWithin(verb, argument, Math.max(1, ends - performance.now()))
      } catch (error) {
        if (!isSafeToRepeat(error) || performance.now() + SHUTDOWN_WAIT >= ends) throw publishError(error)
        await delay(SHUTDOWN_WAIT)
      }
    }
  }
}

const publishError = (error: unknown): PublishError => {
  const why = error instanceof Error ? error.message : String(error)
  const isUnknown = error instanceof ConnectionLostError && error.sent
  return new PublishError(isUnknown ? `${why} Whether the job is stored is not known.` : why, isUnknown ? 'unknown' : 'no', { cause: error })
}
