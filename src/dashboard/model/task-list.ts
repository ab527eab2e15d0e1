import type { FarmEvent, TaskRecord, TaskStatus } from '../../runtime/report/report.js'

/** Jobs remembered for each node. */
const MAX_TASKS = 300

type TaskEvent = Extract<FarmEvent, { id: string }>

/** The jobs of a node as its events describe them. A snapshot replaces them. */
export class TaskList {
  readonly #records = new Map<string, TaskRecord>()

  /** Running jobs, the longest first; then the others, the last changed first. */
  list(): TaskRecord[] {
    const running: TaskRecord[] = []
    const others: TaskRecord[] = []
    for (const record of this.#records.values()) (record.status === 'running' ? running : others).push(record)
    return [...running.sort((a, b) => (a.started ?? 0) - (b.started ?? 0)), ...others.reverse()]
  }

  get(id: string): TaskRecord | undefined {
    return this.#records.get(id)
  }

  replace(records: readonly TaskRecord[]): void {
    this.#records.clear()
    for (const record of records) this.#records.set(record.id, record)
    this.#forget()
  }

  apply(event: TaskEvent): void {
    const before = this.#records.get(event.id) ?? newRecord(event)
    // The map is in the order of the last change.
    this.#records.delete(event.id)
    this.#records.set(event.id, { ...before, ...changes(before, event) })
    this.#forget()
  }

  #forget(): void {
    for (const id of this.#records.keys()) {
      if (this.#records.size <= MAX_TASKS) return
      this.#records.delete(id)
    }
  }
}

const newRecord = ({ id, name, at }: TaskEvent): TaskRecord => ({
  id,
  name,
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
      return { status: 'pending', queue: event.queue, counts: event.counts, received: at, started: undefined, ended: undefined, duration: undefined }
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
