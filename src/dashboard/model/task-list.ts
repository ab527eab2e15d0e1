import type { FarmEvent, TaskRecord, TaskStatus } from '../../runtime/report/report.js'

/** Jobs remembered for each node. */
const MAX_TASKS = 300
/** Running ones beyond these. */
const MAX_RUNNING = 300

type TaskEvent = Extract<FarmEvent, { id: string }>

/** A job in the history of a node. */
export interface NodeTask extends TaskRecord {
  readonly node: string
  /** When it last changed, by the clock of this machine, ms since the epoch. */
  readonly changed: number
}

/** The jobs of a node as its events describe them. A snapshot replaces them. */
export class TaskList {
  readonly #node: string
  /** In the order of the last change. */
  readonly #records = new Map<string, NodeTask>()

  constructor(node: string) {
    this.#node = node
  }

  /** The last changed is the last. */
  records(): readonly NodeTask[] {
    return [...this.#records.values()]
  }

  /** How many of them run. */
  get running(): number {
    let count = 0
    for (const { status } of this.#records.values()) if (status === 'running') count++
    return count
  }

  get(id: string): NodeTask | undefined {
    return this.#records.get(id)
  }

  /** `skew`: ms that the clock of this machine is ahead of the node's. */
  replace(records: readonly TaskRecord[], skew: number): void {
    this.#records.clear()
    const all = records.map((record): NodeTask => ({ ...record, node: this.#node, changed: (record.ended ?? record.started ?? record.received) + skew }))
    for (const record of all.sort((a, b) => a.changed - b.changed)) this.#records.set(record.id, record)
    this.#forget()
  }

  /** Sets what is known of a job that is in the list; its place stays. */
  set(record: TaskRecord): void {
    const { changed = record.received } = this.#records.get(record.id) ?? {}
    this.#records.set(record.id, { ...record, node: this.#node, changed })
  }

  /** `now`: by the clock of this machine. */
  apply(event: TaskEvent, now: number): void {
    const before = this.#records.get(event.id) ?? newRecord(event, this.#node)
    this.#records.delete(event.id)
    this.#records.set(event.id, { ...before, ...changes(before, event), changed: now })
    this.#forget()
  }

  /** The last changed stay, and those that run: an operator looks for the one that does not end. */
  #forget(): void {
    for (const [id, { status }] of this.#records) {
      if (this.#records.size <= MAX_TASKS) return
      if (status !== 'running' || this.#records.size > MAX_TASKS + MAX_RUNNING) this.#records.delete(id)
    }
  }
}

const newRecord = ({ id, name, at }: TaskEvent, node: string): NodeTask => ({
  id,
  name,
  node,
  changed: at,
  queue: '',
  status: 'pending',
  counts: { attempt: 1, losses: 0, requeues: 0 },
  received: at,
  started: undefined,
  ended: undefined,
  duration: undefined,
  worker: undefined,
  error: undefined,
  logs: [],
})

const changes = (before: TaskRecord, event: TaskEvent): Partial<TaskRecord> => {
  const { at } = event
  const ended = (status: TaskStatus, more: Partial<TaskRecord> = {}): Partial<TaskRecord> => ({ status, ended: at, ...more })
  switch (event.type) {
    case 'task.received':
      return {
        status: 'pending',
        queue: event.queue,
        counts: event.counts,
        received: at,
        started: undefined,
        ended: undefined,
        duration: undefined,
        error: undefined,
        stack: undefined,
      }
    case 'task.started':
      return { status: 'running', started: at, worker: event.worker, counts: { ...before.counts, attempt: event.attempt } }
    case 'task.progress':
      return {}
    case 'task.succeeded':
      return ended('success', { duration: event.duration })
    case 'task.failed':
      // The timeout, reported before, is the cause of the failure.
      return ended(isTimeout(before.status) ? before.status : 'failure', { duration: event.duration, error: event.error })
    case 'task.soft_timeout':
      return ended('soft_timeout', { duration: event.duration })
    case 'task.hard_timeout':
      return ended('hard_timeout', { duration: event.duration })
    case 'task.retried':
      return ended('retried', { error: event.error, counts: event.counts, ...lastRun(event) })
    case 'task.revoked':
      return ended('revoked', lastRun(event))
    case 'task.lost':
      return ended('lost', { duration: event.duration, error: event.reason, counts: { ...before.counts, losses: event.losses } })
  }
}

/** Without a worker no run ended with the event: the duration of an earlier run stays. */
const lastRun = ({ worker, duration }: { worker: number | undefined; duration: number }): Partial<TaskRecord> => (worker === undefined ? {} : { duration })

const isTimeout = (status: TaskStatus): boolean => status === 'soft_timeout' || status === 'hard_timeout'
