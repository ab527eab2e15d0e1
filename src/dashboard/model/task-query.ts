import { type Filtered, readFilter } from './filter.js'
import type { NodeTask } from './task-list.js'

/** Orders of a list of jobs. `newest`: running ones first, the longest at the top, then the last changed. */
export const TASK_ORDERS = ['newest', 'longest', 'task', 'state', 'attempts'] as const
export type TaskOrder = (typeof TASK_ORDERS)[number]

const taskLine = ({ name, status, queue, node, id, error, arguments: args }: NodeTask): Filtered => ({
  task: name,
  state: status,
  queue,
  node,
  texts: [id, error, args],
})

/** The jobs that a filter finds, in an order. */
export const queryTasks = (tasks: readonly NodeTask[], filter: string, order: TaskOrder): NodeTask[] => {
  const matches = readFilter(filter)
  const found = filter.trim() === '' ? tasks : tasks.filter((task) => matches(taskLine(task)))
  // What changed in the same millisecond is in the order of the changes.
  return found.toReversed().sort(COMPARE[order])
}

/** Runs that go on first, the longest of them at the top; then ms that a run took. */
const runTime = ({ status, started, duration }: NodeTask): number =>
  status === 'running' && started !== undefined ? Number.MAX_SAFE_INTEGER - started : (duration ?? -1)

const newest = (a: NodeTask, b: NodeTask): number => {
  if (a.status === 'running' && b.status === 'running') return (a.started ?? 0) - (b.started ?? 0)
  if (a.status === 'running' || b.status === 'running') return a.status === 'running' ? -1 : 1
  return b.changed - a.changed
}

const byText =
  (of: (task: NodeTask) => string) =>
  (a: NodeTask, b: NodeTask): number =>
    of(a) === of(b) ? newest(a, b) : of(a) < of(b) ? -1 : 1

const byNumber =
  (of: (task: NodeTask) => number) =>
  (a: NodeTask, b: NodeTask): number =>
    of(b) - of(a) || newest(a, b)

const COMPARE: Readonly<Record<TaskOrder, (a: NodeTask, b: NodeTask) => number>> = {
  newest,
  longest: byNumber(runTime),
  task: byText(({ name }) => name),
  state: byText(({ status }) => status),
  attempts: byNumber(({ counts: { attempt, losses } }) => attempt + losses),
}
