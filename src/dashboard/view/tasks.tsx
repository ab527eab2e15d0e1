import type { TaskRecord } from '../../runtime/report/report.js'
import type { Controller } from '../controller.js'
import { shownClock, shownTime } from '../format/values.js'
import { type Column, Table } from './table.js'
import { colourOf, STATUS_COLOURS } from './theme.js'

const columnsAt = (now: number): readonly Column<TaskRecord>[] => [
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
    columns={columnsAt(controller.nodeNow())}
    rows={controller.node?.tasks.list() ?? []}
    chosen={controller.task}
    focused={controller.focus === 'tasks'}
    width={width}
    height={height}
    keyOf={({ id }) => id}
    empty="no tasks yet"
  />
)
