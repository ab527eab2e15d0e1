/** A task module of prefork's own: runs a function of a module that the node has found below its roots. */
import { pathToFileURL } from 'node:url'
import { TaskNotFoundError } from '../wire/errors.js'

const run = async (module: string, name: string, args: readonly unknown[]): Promise<unknown> => {
  const found = (await import(pathToFileURL(module).href)) as Record<string, unknown>
  const task = own(found, name) ?? own(found.default, name)
  if (typeof task !== 'function') throw new TaskNotFoundError(`${module} exports no function '${name}'.`, Object.keys(found))
  return await task(...args)
}

/** An export, never something inherited such as `constructor`. */
const own = (from: unknown, name: string): unknown =>
  typeof from === 'object' && from !== null && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined

export { run as 'prefork:path' }
