/** The control sockets of nodes that share no file: they lie beside a path that their operators name, too. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { ControlClient } from '../../node/broker.js'
import { SocketControlClient } from '../../node/control/socket-client.js'
import { nonEmptyString, OptionError, plainObject } from '../../util/checks.js'
import { type OptionTable, option, readOptions } from '../../util/option-table.js'

export interface ControlOptions {
  /**
   * A path in a folder that exists, such as './run/prefork': the node's control socket lies beside it. Nodes with the same path hear of each other, and operators
   * reach them by it. Default none: only this process can command the node.
   */
  control?: string
}

export const CONTROL_OPTIONS = {
  control: option('path', nonEmptyString, undefined, 'a path in a folder that exists; the control socket of the node lies beside it', 'no socket'),
} satisfies OptionTable<ControlOptions>

/** The real path. There need not be a file: the folder alone is looked at. Rejects with OptionError when there is no such folder. */
export const controlPath = async (path: string): Promise<string> => {
  const whole = resolve(path)
  try {
    return join(await realpath(dirname(whole)), basename(whole))
  } catch (cause) {
    throw new OptionError('control', `must be a path in a folder that exists: ${(cause as Error).message}`, { cause })
  }
}

/**
 * An operator of the nodes of this machine and this user that have the option `control` with the same path. There is no secret: the sockets have the mode 0600.
 *
 * @throws {TypeError} the option is missing, misspelt, or names a folder that does not exist
 */
export const createControlClient = async (options: Required<ControlOptions>): Promise<ControlClient> => {
  const { control } = readOptions(CONTROL_OPTIONS, 'createControlClient', plainObject('options', options))
  if (control === undefined)
    throw new OptionError('control', "is missing: Faktory has no exchange for commands; nodes are reached by the path in their option 'control'")
  return new SocketControlClient(await controlPath(control))
}
