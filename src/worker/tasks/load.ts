import { realpathSync } from 'node:fs'
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

/** The time that a search for a syntax error may take, ms: enough for a Node that starts on a busy machine. */
const CHECK_TIMEOUT = 5_000

/** The start failed at this module (or at the start hooks of the modules). */
export class StartFailure extends Error {
  readonly module: string
  constructor(module: string, cause: unknown) {
    super(`The task module ${module} failed`, { cause })
    this.module = module
  }
}

/** `import()` of the file in which the process began. */
export type ImportModule = (url: string) => Promise<Record<string, unknown>>

/** Imports the task modules one after another and collects their exported functions. */
export const loadTasks = async (urls: readonly string[], importModule: ImportModule): Promise<TaskRegistry> => {
  const found = new Map<string, RegisteredTask & { module: string }>()
  for (const url of urls) {
    const module = pathOf(url)
    marker[LOADING] = module
    try {
      for (const [name, run] of functionsOf(await importModule(url), module)) {
        const duplicate = found.get(name)
        if (duplicate !== undefined)
          throw new PreforkError('ERR_PREFORK_TASK_TWICE', `Two task modules export a task named '${name}': ${duplicate.module} and ${module}`)
        found.set(name, { name, run, module, ...workerState().tasks.get(run) })
      }
    } catch (error) {
      addSyntaxPlace(error, url, module)
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
 * Parses an ES module and those that it imports by a path, and runs none. It ends with the first syntax error that it meets: Node prints the place of an
 * error that ends the process, and tells it in no other way.
 */
const PARSER = `
import { readFileSync } from 'node:fs'
import { SourceTextModule } from 'node:vm'
const urls = new Set([process.argv[1]])
for (const url of urls) {
  let text
  try { text = readFileSync(new URL(url), 'utf8') } catch { continue }
  const { dependencySpecifiers, moduleRequests } = new SourceTextModule(text, { identifier: url })
  for (const each of moduleRequests?.map(({ specifier }) => specifier) ?? dependencySpecifiers)
    if (/^(\\.{0,2}\\/|file:)/.test(each) && /\\.m?js$/.test(each)) urls.add(new URL(each, url).href)
}`

/** The place that Node prints of a syntax error with this message, in the first module that has one. */
const printedPlace = (message: string, args: readonly string[]): { file: string; line: string } | undefined => {
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: CHECK_TIMEOUT, stdio: ['ignore', 'ignore', 'pipe'] })
  const [, file, line] = /^(.*):(\d+)\n/m.exec(stderr) ?? []
  // Another one is not that of a module: `JSON.parse` throws SyntaxErrors, too.
  return file !== undefined && line !== undefined && stderr.includes(`SyntaxError: ${message}\n`) ? { file: pathOf(file), line } : undefined
}

/** Adds the place of a syntax error to its message: a line of this module, or the path and line of a module that it imports. */
const addSyntaxPlace = (error: unknown, url: string, module: string): void => {
  if (!(error instanceof SyntaxError)) return
  const { message } = error
  try {
    const own = printedPlace(message, ['--check', module])
    if (own !== undefined) {
      error.message += ` (line ${own.line})`
      return
    }
    const imported = printedPlace(message, ['--experimental-vm-modules', '--no-warnings', '--input-type=module', '--eval', PARSER, url])
    if (imported !== undefined) error.message += ` (${imported.file}, line ${imported.line})`
  } catch {
    // Under --permission no process may be started.
  }
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
  'module.exports' in module || process.getBuiltinModule('node:module').createRequire(import.meta.url).cache[realpathSync(path)]?.exports === module.default

/** Functions, but not classes: calling one only throws. */
const isTask = (value: unknown): value is TaskRun => {
  if (typeof value !== 'function') return false
  const prototype = Object.getOwnPropertyDescriptor(value, 'prototype')
  // A class has a `prototype` that cannot be written. That of other functions, where there is one, can.
  return prototype === undefined || prototype.writable === true
}
