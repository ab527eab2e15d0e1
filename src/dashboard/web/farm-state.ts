import type { NodeWorker } from '../../runtime/report/report.js'
import type { FarmModel } from '../model/farm-model.js'
import type { NodeModel } from '../model/node-model.js'
import { MAX_SECONDS } from '../model/samples.js'
import type { NodeTask } from '../model/task-list.js'
import { queryTasks, TASK_ORDERS, type TaskOrder } from '../model/task-query.js'

/** Entries of a list that are sent. */
const MAX_NODES = 100
const MAX_WORKERS = 200
const MAX_TASKS = 100
/** Characters of a filter. */
const MAX_FILTER = 200
/** Characters of the error in a line of a list. */
const MAX_ERROR = 300

/** What one browser looks at. */
export interface ViewQuery {
  /** Undefined: all nodes. */
  readonly node: string | undefined
  readonly filter: string
  readonly order: TaskOrder
}

export const readViewQuery = (query: URLSearchParams): ViewQuery => ({
  node: query.get('node') ?? undefined,
  filter: (query.get('filter') ?? '').slice(0, MAX_FILTER),
  order: TASK_ORDERS.find((order) => order === query.get('order')) ?? 'newest',
})

/** The nodes, workers and jobs that a view shows, as JSON can hold them. Times in ms; those of jobs by the clock of this machine. */
export const farmState = (model: FarmModel, { node: chosen, filter, order }: ViewQuery, now: number) => {
  const nodes = model.nodes(now)
  const looked = nodes.filter((node) => (chosen === undefined ? node.goneReason(now) === undefined : node.name === chosen))
  const workers = looked.flatMap((node) => (node.stats?.workers ?? []).map((worker) => workerLine(node.name, worker)))
  const tasks = queryTasks(
    looked.flatMap((node) => node.tasks.records()),
    filter,
    order,
  )
  return {
    now,
    connected: model.connected,
    totals: model.totals(now),
    nodesFound: nodes.length,
    // The chosen one is among them, wherever its name stands.
    nodes: nodes.filter(({ name }, i) => i < MAX_NODES || name === chosen).map((node) => nodeLine(node, now)),
    workers: { found: workers.length, shown: workers.slice(0, MAX_WORKERS) },
    tasks: { found: tasks.length, shown: tasks.slice(0, MAX_TASKS).map((task) => taskLine(task, model.get(task.node)?.skew ?? 0, now)) },
  }
}

/** Seconds that one slot of the history covers. */
export const SLOT_SECONDS = 5

/** The last ten minutes in slots, oldest first. `ended` is null before `since`, when nothing was known. Times in ms since the epoch. */
export const farmHistory = (model: FarmModel, since: number, now: number) =>
  model
    .seconds(now, MAX_SECONDS, SLOT_SECONDS)
    .map(({ at, ended, failed, latency }) =>
      at < since - SLOT_SECONDS * 1_000
        ? { at, ended: null, failed: null, latency }
        : { at, ended: Math.round(ended * 100) / 100, failed: Math.round(failed * 100) / 100, latency },
    )

const nodeLine = (node: NodeModel, now: number) => {
  const { name, stats, heard } = node
  const gone = node.goneReason(now)
  const silentFor = gone === undefined ? node.silentFor(now) : undefined
  const common = { name, heard, gone, silentFor, rate: node.rateAt(now) }
  if (stats === undefined) return common
  const { state, connected, host, pid, version, uptime, queues, depth, held, prefetch, running, scale, totals, rss, workers } = stats
  const memory = rss + workers.reduce((sum, worker) => sum + worker.rss, 0)
  return { ...common, state, connected, host, pid, version, uptime, queues, depth, held, prefetch, running, scale, totals, rss: memory }
}

const workerLine = (node: string, worker: NodeWorker) => ({ node, ...worker })

const taskLine = ({ node, id, name, queue, status, counts, changed, started, duration, worker, error }: NodeTask, skew: number, now: number) => ({
  node,
  id,
  name,
  queue,
  status,
  counts,
  changed,
  duration: status === 'running' && started !== undefined ? Math.max(0, now - started - skew) : duration,
  worker,
  error: error !== undefined && error.length > MAX_ERROR ? `${error.slice(0, MAX_ERROR)}…` : error,
})
