import { realpath } from 'node:fs/promises'
import type { ControlClient } from '../../node/broker.js'
import { SocketControlClient } from '../../node/control/socket-client.js'
import { OptionError, plainObject } from '../../util/checks.js'
import { type OptionTable, readOptions } from '../../util/option-table.js'
import { StoreError } from '../store/errors.js'
import { STORE_OPTION } from '../store/make-store.js'

export interface ControlClientOptions {
  /** Where the jobs of the nodes are kept: 'sqlite:./jobs.db'. Required. */
  store: string
}

const OPTIONS = { store: STORE_OPTION } satisfies OptionTable<ControlClientOptions>

/**
 * An operator of the nodes that run the jobs of a file, in whichever processes of this machine and this user. It does not open the file.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {StoreError} there is no such file
 */
export const createControlClient = async (options: ControlClientOptions): Promise<ControlClient> => {
  const { store } = readOptions(OPTIONS, 'createControlClient', plainObject('options', options))
  if (!store.startsWith('sqlite:'))
    throw new OptionError('store', "must be 'sqlite:./jobs.db': a store in memory has its nodes in this process, which have the method command()")
  const path = store.slice('sqlite:'.length)
  try {
    return new SocketControlClient(await realpath(path))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const why =
      code === 'ENOENT' ? `There is no file ${path}, and no node at work on it: the first queue or node makes it` : `${path} cannot be found: ${message}`
    throw new StoreError('ERR_PREFORK_STORE_UNUSABLE', `${why}.`, { cause })
  }
}
