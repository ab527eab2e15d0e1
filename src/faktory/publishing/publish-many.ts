import { PublishManyError } from '../../node/connection/errors.js'
import type { JobPusher } from './job-pusher.js'
import type { PreparedJob } from './publish-options.js'

/** Jobs of one PUSHB, at most. */
const MAX_JOBS = 1_000
/** Characters of one PUSHB, at most; a larger job goes alone. The server reads the whole line before it parses it. */
const MAX_SIZE = 1_048_576
/** PUSHBs that are not answered, at most: the next is written while the server stores one. */
const MAX_UNANSWERED = 2

/** What became of the jobs of a `publishMany`. */
export interface PublishedMany {
  /** The ids of the jobs that the server took, in the order of the source. */
  readonly published: readonly string[]
  /** The jobs that it refused, by their ids: the place in the source, from 0, and the server's reason. `NOTUNIQUE …`: it has such a job already. */
  readonly refused: ReadonlyMap<string, { readonly index: number; readonly reason: string }>
}

/** Collects the jobs of a source into PUSHBs, sends them, and notes what became of each. */
export class BulkPublication {
  readonly #pusher: JobPusher
  readonly #refused = new Map<string, { index: number; reason: string }>()
  readonly #jids: string[] = []
  /** Of the jobs that were sent and not refused. */
  readonly #published = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  #batch: PreparedJob[] = []
  #batchSize = 0
  #failed: { readonly error: unknown } | undefined

  constructor(pusher: JobPusher) {
    this.#pusher = pusher
  }

  /** Sends what `source` yields. `prepare` may throw. Rejects with PublishManyError when not all of it was sent. */
  async run(source: Iterable<unknown> | AsyncIterable<unknown>, prepare: (args: unknown, index: number) => PreparedJob): Promise<PublishedMany> {
    try {
      for await (const args of source) {
        await this.#add(prepare(args, this.#jids.length))
        if (this.#failed !== undefined) break
      }
    } catch (error) {
      this.#failed ??= { error }
    }
    // What was taken from the source before an error is sent.
    this.#flush()
    await Promise.all(this.#running)
    const published = this.#jids.filter((jid) => this.#published.has(jid))
    if (this.#failed !== undefined) throw new PublishManyError(this.#failed.error, published)
    return { published, refused: this.#refused }
  }

  async #add(job: PreparedJob): Promise<void> {
    if (this.#batch.length > 0 && this.#batchSize + job.json.length > MAX_SIZE) await this.#flushWithin()
    this.#jids.push(job.jid)
    this.#batch.push(job)
    this.#batchSize += job.json.length
    if (this.#batch.length >= MAX_JOBS) await this.#flushWithin()
  }

  async #flushWithin(): Promise<void> {
    this.#flush()
    while (this.#running.size >= MAX_UNANSWERED) await Promise.race(this.#running)
  }

  #flush(): void {
    const batch = this.#batch
    if (batch.length === 0) return
    const first = this.#jids.length - batch.length
    this.#batch = []
    this.#batchSize = 0
    const sent = this.#send(batch, first).finally(() => this.#running.delete(sent))
    this.#running.add(sent)
  }

  async #send(batch: readonly PreparedJob[], first: number): Promise<void> {
    try {
      const refusals = new Map((await this.#pusher.pushBulk(batch)).map(({ jid, reason }) => [jid, reason]))
      batch.forEach(({ jid }, place) => {
        const reason = refusals.get(jid)
        if (reason === undefined) this.#published.add(jid)
        else this.#refused.set(jid, { index: first + place, reason })
      })
    } catch (error) {
      this.#failed ??= { error }
    }
  }
}
