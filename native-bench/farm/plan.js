// The consumers, each a process of its own: the command, a node, and the bare client.
import { fileURLToPath } from 'node:url'

/** Workers of the node. */
export const WORKERS = 2
/** The prefetch of the node and of the bare client. */
export const PREFETCH = 500

/** @typedef {{ url: string, queue: string, queueType: string }} Where */
/** @typedef {'command' | 'node' | 'client'} Consumer */

/** @param {string} file */
const path = (file) => fileURLToPath(new URL(file, import.meta.url))

/** The arguments of `prefork work`, as one would type them. @param {Where} where */
const workArguments = ({ url, queue, queueType }) => [
  ...['work', '--tasks', path('../tasks.js'), '--import', path('./cpu.js'), '--broker', url],
  ...['--workers', String(WORKERS), '--prefetch', String(PREFETCH / WORKERS), '--queue', queue, '--queue-type', queueType],
  ...['--control-exchange', `${queue}.control`, '--worker-exchange', `${queue}.events`],
]

/** The arguments of Node.js for a consumer. @param {Consumer} name @param {Where} where */
export const consumerArguments = (name, where) =>
  name === 'command' ? [path('../../dist/cli/prefork.js'), ...workArguments(where)] : [path('./host.js'), name, where.url, where.queue, where.queueType]
