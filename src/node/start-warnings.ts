import type { RuntimePool } from '../runtime/options.js'
import { nearest } from '../util/nearest.js'
import type { NodeSettings } from './options.js'

const largest = (...limits: (number | undefined)[]): number | undefined => {
  const set = limits.filter((limit) => limit !== undefined)
  return set.length === 0 ? undefined : Math.max(...set)
}

const limitsOfTasks = (pool: RuntimePool, limit: 'softTimeLimit' | 'timeLimit'): (number | undefined)[] =>
  pool.tasks.map((task) => pool.taskInfo(task)?.[limit])

/** ms that one delivery may stay unsettled; undefined: no hard time limit bounds it. */
export const longestDelivery = (pool: RuntimePool, { timeLimit, shutdownGrace }: NodeSettings): number | undefined => {
  const limit = largest(timeLimit, ...limitsOfTasks(pool, 'timeLimit'))
  return limit === undefined ? undefined : limit + shutdownGrace
}

/** Warnings about options that contradict each other or the tasks. */
export const startWarnings = (pool: RuntimePool, tasks: readonly string[], settings: NodeSettings): string[] => [
  ...taskWarning(tasks, settings),
  ...graceWarning(pool, settings),
  ...defaultsWarnings(tasks, settings),
]

const taskWarning = (tasks: readonly string[], { roots }: NodeSettings): string[] => {
  if (tasks.length > 0 || roots.length > 0) return []
  return ["No module of 'tasks' exports a function: this node knows no task, and each job waits for a node that does. Is the export missing?"]
}

const defaultsWarnings = (tasks: readonly string[], { taskDefaults, roots }: NodeSettings): string[] => {
  // There is no list of tasks to compare with.
  if (roots.length > 0) return []
  const unknown = Object.keys(taskDefaults).filter((name) => !tasks.includes(name))
  return unknown.map((name) => {
    const near = nearest(name, tasks)
    return `taskDefaults names '${name}', and there is no such task${near === undefined ? '.' : `; did you mean '${near}'?`} What it says is used for none.`
  })
}

const graceWarning = (pool: RuntimePool, { softTimeLimit, shutdownGrace }: NodeSettings): string[] => {
  const longest = largest(softTimeLimit, ...limitsOfTasks(pool, 'softTimeLimit'))
  if (longest === undefined || longest <= shutdownGrace) return []
  return [
    `The grace of a shutdown (${shutdownGrace} ms) is shorter than the longest soft time limit (${longest} ms): a job that keeps its limit can be killed by a shutdown, and counts as lost. Raise the grace above ${longest} ms.`,
  ]
}
