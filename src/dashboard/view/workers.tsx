import type { NodeWorker } from '../../runtime/report/report.js'
import type { Controller } from '../controller.js'
import { shownBytes, shownCount, shownTime } from '../format/values.js'
import { type Column, Table } from './table.js'
import { STUCK_AFTER } from './theme.js'

const isStuck = (worker: NodeWorker): boolean => worker.stalled >= STUCK_AFTER

const COLUMNS: readonly Column<NodeWorker>[] = [
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
      columns={COLUMNS}
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
