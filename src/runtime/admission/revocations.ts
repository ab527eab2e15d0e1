import { BoundedMap } from '../collections/bounded-map.js'

/** Which job a revocation is for: one key, or an id, in one queue or in any. */
export interface RevocationTarget {
  readonly id?: string | undefined
  readonly queue?: string | undefined
  readonly key?: string | undefined
}

/** An id, in one queue or in any, and when it was revoked, or its revocation spent: ms since the epoch. */
export interface RememberedId {
  readonly id: string
  readonly queue?: string | undefined
  readonly at: number
}

/** What a node remembers of revocations: those by id have met no job, the spent ones have. The newest come last. */
export interface RememberedRevocations {
  readonly keys: readonly string[]
  readonly ids: readonly RememberedId[]
  readonly spent: readonly RememberedId[]
}

/** A revocation by id that a job has met. `key`: that of the job, if no other job ever has it. */
export interface SpentRevocation {
  readonly id: string
  readonly queue: string | undefined
  readonly key: string | undefined
}

/** The part of a job that a revocation reads and marks. */
interface RevocableJob {
  readonly id: string
  readonly key: string
  readonly hasUniqueKey: boolean
  readonly queue: string
  isRevoked: boolean
  spent: SpentRevocation | undefined
  /** Its broker stores its outcome with its settlement. */
  readonly keepsAnswer: boolean
}

/** The length first, so that no two pairs are the same. */
const idIn = (id: string, queue: string | undefined): string => (queue === undefined ? `*:${id}` : `${queue.length}:${queue}:${id}`)

/**
 * Revocations of jobs that are not here yet. A revocation by id ends the first job that it meets, and is over: the id may be used again.
 * The key of that job stays revoked, as the broker may deliver it again.
 */
export class Revocations {
  readonly #keys: BoundedMap<string>
  readonly #ids: BoundedMap<RememberedId>
  /** Ids whose revocation is spent: a node that has not heard of that may still have it. */
  readonly #spent: BoundedMap<RememberedId>
  readonly #onSpent: (spent: SpentRevocation) => void
  readonly #now: () => number

  /** `size`: how many of each kind are remembered. `onSpent`: other nodes are to be told. */
  constructor(size: number, onSpent: (spent: SpentRevocation) => void, now: () => number = Date.now) {
    this.#now = now
    this.#keys = new BoundedMap(size)
    this.#ids = new BoundedMap(size)
    this.#spent = new BoundedMap(size)
    this.#onSpent = onSpent
  }

  add({ id, queue, key }: RevocationTarget): void {
    if (key !== undefined) this.#keys.set(key, key)
    else if (id !== undefined) {
      this.#ids.set(idIn(id, queue), { id, queue, at: this.#now() })
      this.#spent.delete(idIn(id, queue))
    }
  }

  get remembered(): RememberedRevocations {
    return { keys: this.#keys.values(), ids: this.#ids.values(), spent: this.#spent.values() }
  }

  /** Adds what another node remembers. An id that one of the two knows to be spent, and was not revoked again since, is no longer revoked. */
  merge({ keys, ids, spent }: RememberedRevocations): void {
    for (const key of keys) if (!this.#keys.has(key)) this.#keys.set(key, key)
    for (const each of spent) {
      const key = idIn(each.id, each.queue)
      if (each.at < (this.#ids.get(key)?.at ?? 0) || each.at < (this.#spent.get(key)?.at ?? 0)) continue
      this.#ids.delete(key)
      this.#spent.set(key, each)
    }
    for (const each of ids) {
      const key = idIn(each.id, each.queue)
      if (this.#ids.has(key) || each.at <= (this.#spent.get(key)?.at ?? -1)) continue
      this.#spent.delete(key)
      this.#ids.set(key, each)
    }
  }

  /** Whether a revocation is for this job. From then on it is revoked. */
  apply(job: RevocableJob): boolean {
    if (!job.isRevoked && !this.#keys.isEmpty && this.#keys.has(job.key)) job.isRevoked = true
    if (!job.isRevoked && !this.#ids.isEmpty) {
      if (this.#ids.has(idIn(job.id, job.queue))) this.#spend(job, job.queue)
      else if (this.#ids.has(idIn(job.id, undefined))) this.#spend(job, undefined)
    }
    return job.isRevoked
  }

  /** A revocation comes in while its job is here. */
  applyAtOnce(target: RevocationTarget, job: RevocableJob): void {
    this.add(target)
    if (target.key === undefined) this.#spend(job, target.queue)
    else job.isRevoked = true
  }

  #spend(job: RevocableJob, queue: string | undefined): void {
    job.isRevoked = true
    this.#forget(job.id, queue)
    const spent = { id: job.id, queue, key: job.hasUniqueKey ? job.key : undefined }
    if (spent.key === undefined) job.spent = spent
    else {
      this.#keys.set(spent.key, spent.key)
      this.#onSpent(spent)
    }
  }

  /**
   * What is to be called when the broker has taken the settlement of the job; `end` is part of it. Only then other nodes are told: until
   * then they end the job should it be delivered to them, as nothing but its id says which one is meant.
   */
  whenTaken({ spent }: RevocableJob, end: (() => void) | undefined): (() => void) | undefined {
    if (spent === undefined) return end
    return () => {
      this.#onSpent(spent)
      end?.()
    }
  }

  /**
   * The job has ended here, whatever its broker makes of that. The key of a job whose broker keeps its outcome is forgotten: such a broker keeps the
   * cancellation too, and delivers the job again only when somebody lets it run again.
   */
  ended({ isRevoked, keepsAnswer, key }: RevocableJob): void {
    if (isRevoked && keepsAnswer) this.#keys.delete(key)
  }

  /** A job on another node has met it. */
  spent({ id, queue, key }: SpentRevocation): void {
    this.#forget(id, queue)
    if (key !== undefined) this.#keys.set(key, key)
  }

  #forget(id: string, queue: string | undefined): void {
    this.#ids.delete(idIn(id, queue))
    this.#spent.set(idIn(id, queue), { id, queue, at: this.#now() })
  }
}
