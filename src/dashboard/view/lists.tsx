import type { NodeWorker, TaskRecord } from '../../runtime/report/report.js'
import type { Controller } from '../controller.js'
import { colourOf, STATUS_COLOURS, shownBytes, shownClock, shownCount, shownTime } from '../format/values.js'
import { type Column, Table } from './table.js'

/** ms without a turn of the event loop after which a worker is shown as stuck. */
const STUCK_AFTER = 5_000

const isStuck = (worker: NodeWorker): boolean => worker.stalled >= STUCK_AFTER

const WORKER_COLUMNS: readonly Column<NodeWorker>[] = [
  { title: 'worker', width: 10, value: ({ id, pid }) => `${id} ${pid === undefined ? '' : `(${pid})`}` },
  {
    title: 'state',
    width: 13,
    value: (worker) => (isStuck(worker) ? `stuck ${shownTime(worker.stalled)}` : worker.state),
    colour: (worker) => (isStuck(worker) ? 'red' : worker.state === 'busy' ? 'cyan' : worker.state === 'up' ? 'green' : 'yellow'),
  },
  { title: 'task', width: 0, value: ({ job, running }) => (job === undefined ? '' : `${job.name}${running > 1 ? ` +${running - 1}` : ''} ${job.id}`) },
  { title: 'age', width: 7, right: true, value: ({ job }) => (job === undefined ? '' : shownTime(job.age)) },
  { title: 'rss', width: 7, right: true, optional: 1, value: ({ rss }) => (rss > 0 ? shownBytes(rss) : '') },
  { title: 'done', width: 7, right: true, optional: 2, value: ({ done }) => shownCount(done) },
  { title: 'failed', width: 6, right: true, value: ({ failed }) => shownCount(failed), colour: ({ failed }) => (failed > 0 ? 'red' : undefined) },
]

export const WorkerTable = ({ controller, width, height }: { controller: Controller; width: number; height: number }) => {
  const { min = 0, max = 0, auto = false, alive = 0 } = controller.node?.stats?.scale ?? {}
  return (
    <Table
      title={`${alive} of ${auto && min !== max ? `${min}-${max}` : (controller.node?.stats?.scale.wanted ?? '?')}`}
      columns={WORKER_COLUMNS}
      rows={controller.workers}
      chosen={controller.worker}
      focused={controller.focus === 'workers'}
      width={width}
      height={height}
      keyOf={({ id }) => id}
      empty="no workers"
    />
  )
}

const taskColumns = (now: number): readonly Column<TaskRecord>[] => [
  { title: 'tasks', width: 12, value: ({ status }) => status, colour: ({ status }) => colourOf(STATUS_COLOURS, status) },
  { title: 'name', width: 0, value: ({ name, error }) => (error === undefined ? name : `${name}: ${error}`) },
  { title: 'id', width: 14, optional: 3, value: ({ id }) => id },
  { title: 'try', width: 3, right: true, optional: 1, value: ({ counts }) => String(counts.attempt) },
  { title: 'w', width: 3, right: true, optional: 1, value: ({ worker }) => (worker === undefined ? '' : String(worker)) },
  { title: 'received', width: 8, optional: 2, value: ({ received }) => shownClock(received) },
  { title: 'took', width: 7, right: true, value: (task) => durationOf(task, now) },
]

const durationOf = ({ duration, started, ended }: TaskRecord, now: number): string =>
  duration !== undefined ? shownTime(duration) : started === undefined ? '' : shownTime((ended ?? now) - started)

export const TaskTable = ({ controller, width, height }: { controller: Controller; width: number; height: number }) => (
  <Table
    title="tasks"
    columns={taskColumns(controller.nodeNow())}
    rows={controller.node?.tasks.list() ?? []}
    chosen={controller.task}
    focused={controller.focus === 'tasks'}
    width={width}
    height={height}
    keyOf={({ id }) => id}
    empty="no tasks yet"
  />
)
