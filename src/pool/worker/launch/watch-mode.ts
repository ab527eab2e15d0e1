/**
 * `node --watch` runs the host as a child, to which it sets this variable. Node reports each module that such a process loads to the watcher,
 * which restarts the host when one of them changes. Task modules and what they import are loaded by the workers, so the host reports them.
 */
const VARIABLE = 'WATCH_REPORT_DEPENDENCIES'

/** The message by which Node reports modules that were imported. */
const MESSAGE = 'watch:import'

/** Each worker, and each that replaces one, loads the same modules. */
const reported = new Set<string>()

/**
 * Tells the watcher, if there is one, of modules that a worker loads.
 *
 * @param urls file: URLs
 */
export const reportToWatcher = (urls: readonly string[]): void => {
  if (process.env[VARIABLE] === undefined || process.send === undefined) return
  const added = urls.filter((url) => !reported.has(url))
  if (added.length === 0) return
  for (const url of added) reported.add(url)
  // Without a callback, a watcher that has gone would be an uncaught error.
  process.send({ [MESSAGE]: added }, undefined, undefined, () => {})
}

type Environment = Record<string, string | undefined>

/** The environment of the workers, with the host's variable, which is not in an `env` of the caller's own. */
export const watchedEnv = (env: Environment, host: Environment): Environment => {
  const value = host[VARIABLE]
  return value === undefined ? env : { ...env, [VARIABLE]: value }
}
