import { BrokerError } from '../../node/connection/errors.js'
import { FaktoryConnection } from '../connection/connection.js'
import { ConnectionLostError, FaktoryError } from '../errors.js'
import type { ServerEndpoint } from '../options.js'
import { type MutateCommand, mutateArgument } from './mutate.js'
import { readInfo, type ServerInfo } from './server-info.js'

/** ms for one command. MUTATE walks through a whole set. */
const COMMAND_TIMEOUT = 60_000

/** The commands of an operator, over one connection. */
export class ServerCommands {
  readonly #connection: FaktoryConnection

  constructor(connection: FaktoryConnection) {
    this.#connection = connection
  }

  send(verb: string, argument?: string): Promise<string | null> {
    return this.#connection.command(verb, argument, { timeout: COMMAND_TIMEOUT })
  }

  async info(): Promise<ServerInfo> {
    return readInfo(await this.send('INFO'))
  }

  /**
   * Resolves with the number of jobs that left the set meanwhile: MUTATE names none, so the size of the set is asked for before and after. On a busy
   * server others enter and leave it too.
   */
  async mutate(command: MutateCommand): Promise<number> {
    const before = (await this.info()).faktory.sets[command.target]
    await this.send('MUTATE', mutateArgument(command))
    return Math.max(0, before - (await this.info()).faktory.sets[command.target])
  }
}

/** Connects, runs `use`, and closes. Rejects with BrokerError when the server cannot be reached or refuses a command. */
export const withServer = async <T>(endpoint: ServerEndpoint, use: (server: ServerCommands) => Promise<T>): Promise<T> => {
  try {
    const connection = await FaktoryConnection.open({ ...endpoint, warn: (message) => process.emitWarning(message) })
    try {
      return await use(new ServerCommands(connection))
    } finally {
      await connection.end()
    }
  } catch (error) {
    if (error instanceof ConnectionLostError || error instanceof FaktoryError) throw new BrokerError(error.message, { cause: error })
    throw error
  }
}

/**
 * Fits the jobs of one queue, in a filter. In the text of a job the queue stands between its id and its task; objects in the arguments and in `custom`
 * have their names in alphabetical order, in which `jobtype` does not follow `queue`.
 */
export const ofQueue = (queue: string): { regexp: string } => ({ regexp: `*,"queue":"${queue}","jobtype":*` })
