import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { unknownTask } from '../../pool/jobs/submission.js'
import { ownFile } from '../../util/own-files.js'
import { TaskNotFoundError } from '../../wire/errors.js'
import { PathRefusedError } from '../errors.js'

/** The task of `path-task.ts` that runs a function by path. No message may name it. */
export const PATH_TASK = 'prefork:path'

/** The task in the same module that returns the function's options. */
export const PATH_OPTIONS = 'prefork:path-options'

/** Whether the name is one of prefork's own tasks. */
export const isHelper = (task: string): boolean => task === PATH_TASK || task === PATH_OPTIONS

/** Tried in this order after the module's path. */
const EXTENSIONS = ['', '.js', '.mjs', '.cjs']

export interface PathTask {
  /** Real path of the module. */
  module: string
  export: string
}

/** Whether the name has the form `module/path#export`. */
export const looksLikePath = (task: string): boolean => task.includes('#')

/** URL of the task module `path-task.js` in dist/. */
export const pathTaskModule = (): URL => ownFile('runtime/path-task.js')

/**
 * Finds the module of a task named `module/path#export` below one of the roots. Undefined: there is none.
 *
 * @throws {PathRefusedError} the path is absolute, climbs with `..`, or leads out of its root by a symbolic link
 */
export const findPathTask = async (roots: readonly string[], task: string): Promise<PathTask | undefined> => {
  const at = task.lastIndexOf('#')
  const path = task.slice(0, at)
  const name = task.slice(at + 1)
  if (path === '' || name === '') throw new PathRefusedError(`A task below the roots is named module/path#export, not '${task}'.`)
  if (isAbsolute(path) || /^[A-Za-z]:|\\|\0/.test(path) || path.split('/').includes('..'))
    throw new PathRefusedError(`The task '${task}' leaves the roots: its path must be relative, without '..'.`)
  for (const root of roots) {
    for (const ending of EXTENSIONS) {
      const module = await realFile(join(root, path + ending))
      if (module === undefined) continue
      const realRoot = await realpath(root)
      if (!module.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep))
        throw new PathRefusedError(`The task '${task}' leaves the root ${root}: a symbolic link leads out of it.`)
      return { module, export: name }
    }
  }
  return undefined
}

/** The error for an unknown task. With roots it says where the task was looked for and how such tasks are named. */
export const unknownTaskError = (roots: readonly string[], task: string, known: readonly string[]): TaskNotFoundError => {
  const below = `below ${roots.join(' or ')}`
  if (roots.length > 0 && looksLikePath(task))
    return new TaskNotFoundError(
      `There is no task '${task}': there is no file '${task.slice(0, task.lastIndexOf('#'))}' (also with .js, .mjs, .cjs) ${below}.`,
      known,
    )
  if (roots.length > 0 && known.length === 0)
    return new TaskNotFoundError(`There is no task '${task}'. Tasks are named module/path#export, as they are found ${below}.`, known)
  return unknownTask(task, known)
}

const realFile = async (path: string): Promise<string | undefined> => {
  try {
    const real = await realpath(path)
    return (await stat(real)).isFile() ? real : undefined
  } catch {
    return undefined
  }
}
