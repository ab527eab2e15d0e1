/** A task module of prefork itself: it runs a function of a module that the node found below its roots, and returns the function's options. */
import { pathToFileURL } from 'node:url'
import { TaskNotFoundError } from '../../wire/errors.js'
import { workerState } from '../../worker/state.js'
import type { TaskOptions } from '../../worker/tasks/define-task.js'

type Task = (...args: readonly unknown[]) => unknown

const find = async (module: string, name: string): Promise<Task> => {
  const found = (await import(pathToFileURL(module).href)) as Record<string, unknown>
  const task = own(found, name) ?? own(found.default, name)
  if (typeof task !== 'function') throw new TaskNotFoundError(`${module} exports no function '${name}'.`, Object.keys(found))
  return task as Task
}

const run = async (module: string, name: string, args: readonly unknown[]): Promise<unknown> => {
  const task = await find(module, name)
  return await task(...args)
}

/** The options given to `defineTask`. */
const optionsOf = async (module: string, name: string): Promise<TaskOptions> => workerState().tasks.get(await find(module, name)) ?? {}

/** An export of the module, never an inherited property such as `constructor`. */
const own = (from: unknown, name: string): unknown =>
  typeof from === 'object' && from !== null && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined

export { optionsOf as 'prefork:path-options', run as 'prefork:path' }
