import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PreforkError } from '../../wire/errors.js'
import type { TaskInfo } from '../../wire/messages.js'
import { workerState } from '../state.js'

/** A function that runs jobs. Its arguments come from another process: their types are not checked. */
export type TaskRun = (...args: unknown[]) => unknown

export interface RegisteredTask extends TaskInfo {
  readonly run: TaskRun
}

/** The tasks of this worker in the order of WORKER_UP: a JOB refers to its task by index. */
export class TaskRegistry {
  constructor(readonly tasks: readonly RegisteredTask[]) {}

  get names(): string[] {
    return this.tasks.map((task) => task.name)
  }

  infos(): TaskInfo[] {
    return this.tasks.map(({ run: _, ...info }) => info)
  }
}

/** Holds the path of the module that loads, so that `createPool` can refuse to start workers from within a worker's start. */
const LOADING = Symbol.for('prefork.loading')
const marker = globalThis as { [LOADING]?: string }

/** The time that `node --check` may take, ms: enough for a Node that starts on a busy machine. */
const CHECK_TIMEOUT = 5_000

/** The start failed at this module (or at the start hooks of the modules). */
export class StartFailure extends Error {
  readonly module: string
  constructor(module: string, cause: unknown) {
    super(`The task module ${module} failed`, { cause })
    this.module = module
  }
}

/** Imports the task modules one after another and collects their exported functions. */
export const loadTasks = async (urls: readonly string[]): Promise<TaskRegistry> => {
  const found = new Map<string, RegisteredTask & { module: string }>()
  for (const url of urls) {
    const module = pathOf(url)
    marker[LOADING] = module
    try {
      for (const [name, run] of functionsOf(await import(url), module)) {
        const duplicate = found.get(name)
        if (duplicate !== undefined)
          throw new PreforkError('ERR_PREFORK_TASK_TWICE', `Two task modules export a task named '${name}': ${duplicate.module} and ${module}`)
        found.set(name, { name, run, module, ...workerState().tasks.get(run) })
      }
    } catch (error) {
      addSyntaxPlace(error, module)
      throw new StartFailure(module, error)
    }
  }
  if (found.size === 0) {
    const modules = urls.map(pathOf).join(', ')
    throw new StartFailure(
      modules,
      new PreforkError('ERR_PREFORK_NO_TASKS', 'No function is exported. A task is an exported function: export const add = (a, b) => a + b'),
    )
  }
  return new TaskRegistry([...found.values()].map(({ module: _, ...task }) => task))
}

/** Runs the start hooks in order. Which module registered a hook is not known, so an error names all modules. */
export const runStartHooks = async (urls: readonly string[]): Promise<void> => {
  const modules = urls.map(pathOf).join(', ')
  marker[LOADING] = modules
  try {
    for (const hook of workerState().start) await hook()
  } catch (error) {
    throw new StartFailure(modules, error)
  }
}

export const loaded = (): void => {
  delete marker[LOADING]
}

const pathOf = (url: string): string => (url.startsWith('file:') ? fileURLToPath(url) : url)

/**
 * Adds the line of a syntax error to its message. Node prints the line only when the error ends the process, so the module
 * is given to `node --check`, which parses and runs nothing. An error of an imported module stays as it is.
 */
const addSyntaxPlace = (error: unknown, module: string): void => {
  if (!(error instanceof SyntaxError)) return
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { stderr } = spawnSync(process.execPath, ['--check', module], { encoding: 'utf8', timeout: CHECK_TIMEOUT, stdio: ['ignore', 'ignore', 'pipe'] })
  const line = /:(\d+)\n/.exec(stderr)?.[1]
  // Not an error of this module's own text: `JSON.parse` throws SyntaxErrors, too.
  if (line === undefined || !stderr.includes(`SyntaxError: ${error.message}\n`)) return
  error.message += ` (line ${line})`
}

/** Node's lexer misses many named exports of CommonJS modules; they are all on `module.exports`, which is the default export. */
const functionsOf = (module: Record<string, unknown>, path: string): Map<string, TaskRun> => {
  const tasks = new Map<string, TaskRun>()
  const add = (name: string, value: unknown): void => {
    if (isTask(value)) tasks.set(name, value)
  }
  if (typeof module.default === 'object' && module.default !== null && isCommonJs(module, path)) {
    for (const [name, value] of Object.entries(module.default)) if (name !== '__esModule') add(name, value)
  }
  for (const [name, value] of Object.entries(module)) if (name !== 'module.exports') add(name, value)
  return tasks
}

/** Only Node 23 and later show it in the namespace; before, the cache of `require` does. */
const isCommonJs = (module: Record<string, unknown>, path: string): boolean =>
  'module.exports' in module || createRequire(import.meta.url).cache[realpathSync(path)]?.exports === module.default

/** Functions, but not classes: calling one only throws. */
const isTask = (value: unknown): value is TaskRun => {
  if (typeof value !== 'function') return false
  const prototype = Object.getOwnPropertyDescriptor(value, 'prototype')
  // A class has a `prototype` that cannot be written. That of other functions, where there is one, can.
  return prototype === undefined || prototype.writable === true
}
