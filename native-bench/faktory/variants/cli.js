// `prefork work`, as a user starts it, with its log in a pipe.
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** @import { Load, Running } from '../types.js' */

const PREFORK = fileURLToPath(new URL('../../../dist/cli/prefork.js', import.meta.url))
const TASKS = fileURLToPath(new URL('../tasks.js', import.meta.url))

/** @param {Load} load @returns {Promise<Running>} */
export const startCommandLine = async ({ url, queue, connections }) => {
  const typed = [PREFORK, 'work', '--broker', url, '--queue', queue, '--tasks', TASKS, '--fetchers', String(connections)]
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
