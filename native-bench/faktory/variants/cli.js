// `prefork work` in a process of its own, with its log in a pipe.
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** @import { Load, Running } from '../types.js' */

const PREFORK = fileURLToPath(new URL('../../../dist/cli/prefork.js', import.meta.url))
const TASKS = fileURLToPath(new URL('../tasks.js', import.meta.url))

/** @param {Load} load @param {readonly string[]} flags @returns {Promise<Running>} */
const start = async ({ url, queue, connections }, flags) => {
  const typed = [PREFORK, 'work', '--broker', url, '--queue', queue, '--tasks', TASKS, '--fetchers', String(connections), ...flags]
  const child = execa(process.execPath, typed, { stdio: ['ignore', 'pipe', 'inherit'], buffer: false, reject: false })
  // Read and forgotten.
  child.stdout.resume()
  await once(child.stdout, 'data')
  return {
    stop: async () => {
      child.kill('SIGTERM')
      await child
    },
  }
}

/** As many workers as under `createWorker`. @param {Load} load */
export const startCommandLine = (load) => start(load, ['--workers', '2'])

/** With its defaults: 1 to 10 workers, by the backlog. @param {Load} load */
export const startScaling = (load) => start(load, [])
