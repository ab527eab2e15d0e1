import { type AnyOperation, isRead, phaseOf, weightOf } from './operations.js'

/** Rows that the operations of one transaction change, at most; one that changes more is alone in its own. */
const MAX_WEIGHT = 1_000

/** An operation that waits, and what is done with its answer. `id` 0: nobody waits for it. */
export interface Pending {
  readonly operation: AnyOperation
  readonly id: number
  readonly done?: (value: unknown) => void
  /** It could not be done, and will not be. */
  readonly failed?: () => void
}

/** A beginning that need not be stored at once: most jobs end a moment later, and their settlement takes its place. */
const mayWait = (operation: AnyOperation): boolean => operation.op === 'began' && !operation.atOnce

/** A job that is settled in the same transaction has no use for its beginning, unless somebody waits for that. */
const withoutSettled = (batch: Pending[]): Pending[] => {
  if (!batch.some(({ operation }) => operation.op === 'began')) return batch
  // Of two claims of one job, the later counts. A beginning of the other stays, and stores nothing: its token is not that of the job.
  const tokens = new Map(batch.flatMap(({ operation }) => (operation.op === 'settle' ? [[operation.lease.seq, operation.lease.token]] : [])))
  return batch.filter(({ id, operation }) => operation.op !== 'began' || id !== 0 || tokens.get(operation.lease.seq) !== operation.lease.token)
}

/** The operations that gather while a batch is at the disk: they are the next one. */
export class PendingOperations {
  #writes: Pending[] = []
  #reads: Pending[] = []

  get hasWrites(): boolean {
    return this.#writes.length > 0
  }

  /** Nothing waits but beginnings that need not be stored at once. */
  get mayWait(): boolean {
    return this.#reads.length === 0 && this.#writes.every(({ operation }) => mayWait(operation))
  }

  get isEmpty(): boolean {
    return this.#writes.length === 0 && this.#reads.length === 0
  }

  add(pending: Pending): void {
    const list = isRead(pending.operation) ? this.#reads : this.#writes
    list.push(pending)
  }

  /** Those that were taken and could not be done, before all others. */
  putBack(all: readonly Pending[]): void {
    this.#writes.unshift(...all.filter(({ operation }) => !isRead(operation)))
    this.#reads.unshift(...all.filter(({ operation }) => isRead(operation)))
  }

  includes(op: AnyOperation['op']): boolean {
    return this.#writes.some(({ operation }) => operation.op === op)
  }

  takeReads(): Pending[] {
    const reads = this.#reads
    this.#reads = []
    return reads
  }

  /** The next batch, settlements first and claims last. */
  takeBatch(): Pending[] {
    let weight = 0
    let size = 0
    for (const { operation } of this.#writes) {
      weight += weightOf(operation)
      if (size > 0 && weight > MAX_WEIGHT) break
      size++
    }
    const batch = withoutSettled(this.#writes.splice(0, size))
    return batch.length === 1 ? batch : batch.sort((a, b) => phaseOf(a.operation) - phaseOf(b.operation))
  }

  /** All of them. */
  drain(): Pending[] {
    const all = [...this.#writes, ...this.#reads]
    this.#writes = []
    this.#reads = []
    return all
  }
}
