import type { TaskInfo } from '../../wire/messages.js'

/** A function that runs jobs. Its arguments come from another process: their types are not checked. */
export type TaskRun = (...args: unknown[]) => unknown

export interface RegisteredTask extends TaskInfo {
  readonly run: TaskRun
}

/** The tasks of this worker in the order of WORKER_UP: a JOB refers to its task by index. */
export class TaskRegistry {
  readonly tasks: readonly RegisteredTask[]

  constructor(tasks: readonly RegisteredTask[]) {
    this.tasks = tasks
  }

  get names(): string[] {
    return this.tasks.map((task) => task.name)
  }

  infos(): TaskInfo[] {
    return this.tasks.map(({ run: _, ...info }) => info)
  }
}
