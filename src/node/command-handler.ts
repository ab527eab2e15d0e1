import { type Command, type NodeMessage, readCommand, readNodeMessage } from '../runtime/report/commands.js'
import type { NodeParts } from './node-stats.js'
import type { FarmNode } from './types.js'

/** What commands use of the node. */
export interface CommandTarget extends Pick<FarmNode, 'stats' | 'snapshot' | 'shutdown'> {
  readonly parts: NodeParts
  quiet(): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  restart(): number
}

/** Commands that are refused once the node shuts down. */
const NOT_DURING_SHUTDOWN: readonly string[] = ['quiet', 'pause', 'resume', 'grow', 'shrink', 'autoscale', 'restart']

/** Commands that change the node, and leave no other line in its log. */
const LOGGED: readonly string[] = ['quiet', 'pause', 'resume', 'grow', 'shrink', 'autoscale', 'revoke', 'rate_limit']

/**
 * Executes a command and resolves with its answer. A restart and a shutdown are answered as soon as they have begun.
 *
 * @throws {TypeError} the command is unknown or has a value it cannot have
 * @throws {RangeError} more workers than a command can set
 */
export const runCommand = async (node: CommandTarget, given: unknown): Promise<unknown> => {
  const message = readNodeMessage(given)
  if (message !== undefined) return answerNode(node, message)
  const command = readCommand(given)
  const { state } = node.stats()
  if ((state === 'draining' || state === 'stopped') && NOT_DURING_SHUTDOWN.includes(command.command))
    throw new Error(`The node shuts down: '${command.command}' is refused.`)
  const answer = await execute(node, command)
  if (LOGGED.includes(command.command)) node.parts.settings.logger?.info({ ...command, answer }, 'command carried out')
  return answer
}

const answerNode = ({ parts: { runtime, settings } }: CommandTarget, message: NodeMessage): object => {
  if (message.command === 'revocations') return runtime.revocations
  const { id, queue, key, node: from } = message
  if (from !== settings.name) runtime.revocationSpent({ id, queue, key })
  return {}
}

const limitRate = async ({ broker, runtime }: NodeParts, { task, queue, limit }: Extract<Command, { command: 'rate_limit' }>): Promise<void> => {
  if (task !== undefined) runtime.rateLimit('task', task, limit)
  else if (queue !== undefined) {
    await broker.limit?.(queue, limit)
    runtime.rateLimit('queue', queue, limit, broker.limit !== undefined)
  }
}

const execute = async (node: CommandTarget, command: Command): Promise<unknown> => {
  const { runtime, scale, pool } = node.parts
  switch (command.command) {
    case 'ping': {
      const { node: name, state, uptime } = node.stats()
      return { node: name, state, uptime, at: Date.now() }
    }
    case 'snapshot':
      return node.snapshot({ id: command.id })
    case 'stats':
      return node.stats()
    case 'shutdown':
      void node.shutdown({ grace: command.grace, reason: 'a command' })
      return { state: node.stats().state }
    case 'quiet':
    case 'pause':
    case 'resume':
      await node[command.command]()
      return { state: node.stats().state }
    case 'grow':
    case 'shrink':
      scale[command.command](command.by ?? 1)
      return scale.report
    case 'autoscale':
      scale.setBounds(command.min, command.max)
      return scale.report
    case 'restart':
      return { restarting: node.restart() }
    case 'revoke':
      return { id: command.id, key: command.key, outcome: await runtime.revoke(command, command.terminate) }
    case 'rate_limit':
      await limitRate(node.parts, command)
      return runtime.stats.rateLimits
    case 'profile':
      return { worker: command.worker, profile: await pool.profile(command.worker, command.ms) }
    case 'stack':
      return { worker: command.worker, stack: await pool.stack(command.worker) }
  }
}
