import type { NodeWorker } from '../../runtime/report/report.js'
import type { Controller } from '../controller.js'
import { colourOf, STATUS_COLOURS, shownBytes, shownClock, shownCount, shownRate, shownTime, shownWhen } from '../format/values.js'
import type { ListedLetter } from '../model/dead-letters.js'
import { isStuck, type NodeModel } from '../model/node-model.js'
import type { NodeTask } from '../model/task-list.js'
import { nodeState } from './header.js'
import { type Column, Table } from './table.js'

interface ListProps {
  readonly controller: Controller
  readonly width: number
  readonly height: number
}

/** A worker can be stuck in any state; that of a node which runs goes without saying. */
const shortState = (text: string): string => text.replace(/^running, /, '')

const nodeColumns = (now: number): readonly Column<NodeModel>[] => {
  const present = <T,>(node: NodeModel, value: (stats: NonNullable<NodeModel['stats']>) => T, otherwise: T): T =>
    node.stats === undefined || node.goneReason(now) !== undefined ? otherwise : value(node.stats)
  return [
    { title: 'nodes', width: 14, grows: true, value: ({ name }) => name },
    { title: 'state', width: 0, least: 9, value: (node) => shortState(nodeState(node, now)[0]), colour: (node) => nodeState(node, now)[1] },
    { title: 'host', width: 12, grows: true, optional: 7, value: (node) => present(node, ({ host, pid }) => `${host} ${pid}`, '') },
    { title: 'queues', width: 12, grows: true, optional: 6, value: (node) => present(node, ({ queues }) => queues.join(' '), '') },
    { title: 'up', width: 7, right: true, optional: 5, value: (node) => present(node, ({ uptime }) => shownTime(uptime), '') },
    {
      title: 'workers',
      width: 7,
      right: true,
      value: (node) => present(node, ({ scale: { alive }, workers }) => `${workers.filter(({ running }) => running > 0).length}/${alive}`, ''),
    },
    { title: 'running', width: 7, right: true, optional: 4, value: (node) => present(node, ({ running }) => shownCount(running), '') },
    { title: 'queue', width: 6, right: true, optional: 3, value: (node) => present(node, ({ depth }) => (depth === undefined ? '?' : shownCount(depth)), '') },
    {
      title: 'rate',
      width: 7,
      right: true,
      value: (node) =>
        present(
          node,
          () => {
            const rate = node.rateAt(now)
            return rate === undefined ? '' : shownRate(rate)
          },
          '',
        ),
    },
    { title: 'done', width: 7, right: true, optional: 2, value: (node) => present(node, ({ totals }) => shownCount(totals.succeeded), '') },
    {
      title: 'failed',
      width: 6,
      right: true,
      value: (node) => present(node, ({ totals }) => shownCount(totals.failed), ''),
      colour: (node) => present(node, ({ totals }) => (totals.failed > 0 ? 'red' : undefined), undefined),
    },
    {
      title: 'memory',
      width: 7,
      right: true,
      optional: 1,
      value: (node) => present(node, ({ rss, workers }) => shownBytes(workers.reduce((sum, worker) => sum + worker.rss, rss)), ''),
    },
  ]
}

/** All nodes, a line each. */
export const NodeTable = ({ controller, width, height }: ListProps) => (
  <Table
    title="nodes"
    note=""
    columns={nodeColumns(controller.now())}
    rows={controller.nodes}
    chosen={controller.node}
    focused={controller.focus === 'upper'}
    width={width}
    height={height}
    keyOf={({ name }) => name}
    empty="no nodes"
    spans={(node) => node.goneReason(controller.now()) !== undefined}
  />
)

const WORKER_COLUMNS: readonly Column<NodeWorker>[] = [
  { title: 'worker', width: 10, value: ({ id, pid }) => `${id} ${pid === undefined ? '' : `(${pid})`}` },
  {
    title: 'state',
    width: 13,
    value: (worker) => (isStuck(worker) ? `stuck ${shownTime(worker.stalled)}` : worker.state),
    colour: (worker) => (isStuck(worker) ? 'red' : worker.state === 'busy' ? 'cyan' : worker.state === 'up' ? 'green' : 'yellow'),
  },
  {
    title: 'task',
    width: 0,
    value: ({ job, running }) => (job === undefined ? '' : `${job.name}${running > 1 ? ` +${running - 1}` : ''} ${job.id}`),
    important: ({ job }) => job?.name ?? '',
  },
  { title: 'age', width: 7, right: true, value: ({ job }) => (job === undefined ? '' : shownTime(job.age)) },
  { title: 'rss', width: 7, right: true, optional: 2, value: ({ rss }) => (rss > 0 ? shownBytes(rss) : '') },
  { title: 'done', width: 7, right: true, optional: 3, value: ({ done }) => shownCount(done) },
  { title: 'retried', width: 7, right: true, optional: 4, value: ({ retried }) => (retried === undefined ? '' : shownCount(retried)) },
  { title: 'failed', width: 6, right: true, value: ({ failed }) => shownCount(failed), colour: ({ failed }) => (failed > 0 ? 'red' : undefined) },
]

/** The workers of the node that is shown. */
export const WorkerTable = ({ controller, width, height }: ListProps) => {
  const { min = 0, max = 0, auto = false, alive = 0 } = controller.node?.stats?.scale ?? {}
  return (
    <Table
      title={`${alive} of ${auto && min !== max ? `${min}-${max}` : (controller.node?.stats?.scale.wanted ?? '?')}`}
      note=""
      columns={WORKER_COLUMNS}
      rows={controller.workers}
      chosen={controller.worker}
      focused={controller.focus === 'upper'}
      width={width}
      height={height}
      keyOf={({ id }) => id}
      empty="no workers"
    />
  )
}

const taskColumns = (controller: Controller): readonly Column<NodeTask>[] => [
  { title: 'jobs', width: 12, value: ({ status }) => status, colour: ({ status }) => colourOf(STATUS_COLOURS, status) },
  {
    title: 'name',
    width: 0,
    least: 30,
    value: ({ name, error }) => (error === undefined ? name : `${name}: ${shortError(error)}`),
    important: ({ name }) => name,
  },
  ...(controller.shownNode === undefined ? [{ title: 'node', width: 10, grows: true, optional: 2, value: ({ node }: NodeTask) => node }] : []),
  { title: 'id', width: 14, grows: true, optional: 3, value: ({ id }) => id },
  { title: 'try', width: 3, right: true, optional: 4, value: ({ counts }) => String(counts.attempt) },
  { title: 'w', width: 3, right: true, optional: 4, value: ({ worker }) => (worker === undefined ? '' : String(worker)) },
  { title: 'received', width: 8, optional: 5, value: ({ received }) => shownClock(received) },
  { title: 'took', width: 7, right: true, value: (task) => durationOf(task, controller) },
]

/** Without the name of the class that nearly every error has. */
const shortError = (error: string): string => error.replace(/^Error: /, '')

/** By the clock of the node. */
const durationOf = ({ node, duration, started, ended }: NodeTask, controller: Controller): string => {
  if (duration !== undefined) return shownTime(duration)
  if (started === undefined) return ''
  return shownTime((ended ?? controller.now() - (controller.farm.model.get(node)?.skew ?? 0)) - started)
}

/** What is shown of the list, besides its first rows in its usual order. */
const taskNote = ({ tasksAt, currentTasks, filter, typing, order }: Controller): string =>
  [
    tasksAt.follows ? '' : tasksAt.newer(currentTasks) > 0 ? `↑ ${tasksAt.newer(currentTasks)} newer` : 'stands still',
    filter === '' && !typing ? '' : `/${filter}`,
    order === 'newest' ? '' : `by ${order}`,
  ]
    .filter((each) => each !== '')
    .join('  ')

/** The jobs of the node that is shown, or of all. */
export const TaskTable = ({ controller, width, height }: ListProps) => {
  const current = controller.currentTasks
  return (
    <Table
      title="jobs"
      note={taskNote(controller)}
      columns={taskColumns(controller)}
      rows={controller.tasksAt.rows(current)}
      chosen={controller.tasksAt.chosen(current)}
      focused={controller.focus === 'tasks'}
      width={width}
      height={height}
      keyOf={({ node, id }) => `${node} ${id}`}
      empty={controller.filter === '' ? 'no jobs yet' : `no job matches '${controller.filter}'; Esc shows all`}
    />
  )
}

const letterColumns = (now: number, severalQueues: boolean): readonly Column<ListedLetter>[] => [
  { title: 'reason', width: 12, value: ({ reason }) => reason, colour: () => 'red' },
  {
    title: 'task',
    width: 0,
    value: ({ task = '(unreadable)', error }) => (error === '' ? task : `${task}: ${shortError(error)}`),
    important: ({ task = '' }) => task,
  },
  { title: 'id', width: 14, grows: true, optional: 3, value: ({ id = '(no id)' }) => id },
  ...(severalQueues ? [{ title: 'queue', width: 12, grows: true, optional: 2, value: ({ queue }: ListedLetter) => queue }] : []),
  { title: 'try', width: 3, right: true, optional: 1, value: ({ attempt }) => String(attempt) },
  { title: 'since', width: 11, right: true, value: ({ at }) => (at === undefined ? '' : shownWhen(at, now)) },
]

/** The dead letters of the broker. */
export const LetterTable = ({ controller, width, height }: ListProps) => {
  const { deadLetters, currentLetters: current, filter, typing } = controller
  const { letters = [], count, cut = false, isRead = false } = deadLetters ?? {}
  const notes = [
    count === undefined ? '' : `${shownCount(count)} are dead in all queues; shown: what the nodes remember`,
    cut ? `the oldest ${shownCount(letters.length)}` : '',
    filter === '' && !typing ? '' : `/${filter}: ${shownCount(current.length)} of ${shownCount(letters.length)}`,
  ]
  return (
    <Table
      title="dead letters"
      note={notes.filter((each) => each !== '').join('  ')}
      columns={letterColumns(
        controller.now(),
        letters.some(({ queue }) => queue !== letters[0]!.queue),
      )}
      rows={controller.lettersAt.rows(current)}
      chosen={controller.letter}
      focused
      width={width}
      height={height}
      keyOf={({ key }) => key}
      empty={!isRead ? 'not read yet' : filter === '' ? 'no dead letters' : `no dead letter matches '${filter}'; Esc shows all`}
    />
  )
}
