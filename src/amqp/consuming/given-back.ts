import { clearTimeout, setTimeout } from '../../util/node-time.js'
import type { ReconnectingConnection } from '../connection/reconnecting-connection.js'

/** A job that is given back by publishing it again. */
export interface GivenBackJob {
  readonly gone: AbortSignal
  publish(): Promise<void>
  acknowledge(): boolean
  /** Hands the message to the node again, as if RabbitMQ had delivered it. */
  deliverAgain(): void
}

/** ms until a kept job is delivered again where the node takes jobs all the time. */
const KEPT_TIME = 1_000

/**
 * Gives jobs back by publishing them again. During an alarm RabbitMQ takes no publication: the jobs are kept, and delivered to this node again
 * when it takes jobs. Otherwise they would hold their places until the alarm ends, and what the node takes is what ends it.
 */
export class GivenBackJobs {
  #blocked = false
  #paused = false
  readonly #kept = new Set<GivenBackJob>()
  /** Until the first publication shows whether there is an alarm: RabbitMQ says so to a connection that publishes, and takes it when the alarm ends. */
  #probe: Promise<void> | undefined
  #endProbe = (): void => {}
  #timer: NodeJS.Timeout | undefined

  constructor(publishing: ReconnectingConnection) {
    publishing.on('blocked', () => {
      this.#blocked = true
      this.#endProbe()
    })
    publishing.on('unblocked', () => this.#unblocked())
    publishing.on('down', () => this.#unblocked())
  }

  /** Resolves with true when the job is stored again. False: it is kept, and stays unsettled for RabbitMQ. Rejects when RabbitMQ refuses it. */
  async giveBack(job: GivenBackJob): Promise<boolean> {
    if (!this.#blocked && this.#probe !== undefined) await this.#probe
    if (this.#blocked) {
      this.#keep(job)
      return false
    }
    const published = job.publish()
    if (this.#probe === undefined) this.#probeWith(published)
    await published
    return true
  }

  #probeWith(published: Promise<void>): void {
    this.#probe = new Promise((resolve) => {
      this.#endProbe = () => {
        this.#probe = undefined
        resolve()
      }
      published.then(this.#endProbe, this.#endProbe)
    })
  }

  #keep(job: GivenBackJob): void {
    this.#kept.add(job)
    if (!this.#paused) this.#timer ??= setTimeout(() => this.#deliverAgain(), KEPT_TIME).unref()
  }

  /** The node takes no jobs for now. */
  pause(): void {
    this.#paused = true
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  resume(): void {
    this.#paused = false
    this.#deliverAgain()
  }

  #take(): GivenBackJob[] {
    const jobs = [...this.#kept].filter(({ gone }) => !gone.aborted)
    this.#kept.clear()
    return jobs
  }

  #deliverAgain(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const job of this.#take()) job.deliverAgain()
  }

  /** A node that is paused gives them to others now. */
  #unblocked(): void {
    this.#blocked = false
    for (const job of this.#take()) {
      this.giveBack(job).then(
        (stored) => {
          if (stored) job.acknowledge()
        },
        () => job.deliverAgain(),
      )
    }
  }
}
