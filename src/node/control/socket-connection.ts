import { connect, Socket } from 'node:net'
import type { Answer } from '../../runtime/report/commands.js'
import { readAnswer } from '../../runtime/report/messages.js'
import { MAX_SOCKET_PATH } from '../../util/socket-path.js'
import { PreforkError } from '../../wire/errors.js'
import { readLines } from './lines.js'
import type { SocketFile, SocketFolder } from './socket-folder.js'

/** Bytes of a request at most, without the end of its line. */
export const MAX_REQUEST = 65_536
/** Bytes of an answer, or of the events of one line, at most. */
const MAX_LINE = 80 * 1_048_576

/** Nodes cannot be asked: their sockets belong to somebody else, or the control client is closed. */
export class ControlError extends PreforkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_PREFORK_CONTROL', message, options)
  }
}
// Set here, not in the class: a bundler renames a class that refers to itself, and stacks would show that name.
ControlError.prototype.name = 'ControlError'

/** The request to get events. Any other is a command. */
export const LISTEN_REQUEST = '{"listen":true}'
export const isListenRequest = (line: string): boolean => line === LISTEN_REQUEST

/** Nobody listens on the socket any more, or it is gone: its node is dead. */
export const isDead = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNREFUSED' || code === 'ENOENT'

interface ConnectionEvents {
  line(line: string): void
  /** Once. `error`: why there was no connection. How one was lost says nothing: a node that dies resets those whose request it has not read. */
  closed(error: NodeJS.ErrnoException | undefined): void
}

/** Connects to a node and sends a request. */
export const openConnection = (path: string, request: string | Buffer, { line, closed }: ConnectionEvents): Socket => {
  // Node 20 would cut the path off, in silence.
  const isTooLong = Buffer.byteLength(path) > MAX_SOCKET_PATH
  const socket = isTooLong ? new Socket().destroy(new Error(`the path of a socket is too long here: ${path}`)) : connect({ path })
  let wasConnected = false
  let failure: NodeJS.ErrnoException | undefined
  socket
    .on('connect', () => {
      wasConnected = true
    })
    .on('error', (error) => {
      if (!wasConnected) failure ??= error
    })
    .on('close', () => closed(failure))
  readLines(socket, MAX_LINE, line, () => socket.destroy())
  socket.write(request)
  socket.write('\n')
  return socket
}

/** Sends a command to one node. Undefined: there is no answer, as the command is for others, the node ends, or `signal` has ended the wait. Rejects when it cannot be connected to. */
const askNode = ({ path }: SocketFile, request: Buffer, signal: AbortSignal): Promise<Answer | undefined> =>
  new Promise((resolve, reject) => {
    let answer: Answer | undefined
    const socket = openConnection(path, request, {
      line: (line) => {
        answer ??= readAnswer(Buffer.from(line))
        resolve(answer)
        socket.destroy()
      },
      closed: (error) => {
        signal.removeEventListener('abort', end)
        if (error === undefined) resolve(answer)
        else reject(error)
      },
    })
    const end = (): void => void socket.destroy()
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })

interface AskOptions {
  readonly signal: AbortSignal
  /** The entry of the node that asks. */
  readonly except?: string | undefined
  /** Has the entries of those that are waited for. */
  readonly silent?: Set<string>
}

/**
 * Sends a command to every node, and calls `receive` with each answer. Resolves when no further one is expected, with why nodes could not be asked: those that
 * are dead are not among them, and their sockets are removed. Rejects when the sockets cannot be looked for.
 */
export const askNodes = async (
  folder: SocketFolder,
  request: Buffer,
  { signal, except, silent }: AskOptions,
  receive: (answer: Answer) => void,
): Promise<NodeJS.ErrnoException[]> => {
  const errors: NodeJS.ErrnoException[] = []
  const askOne = async (socket: SocketFile): Promise<void> => {
    try {
      silent?.add(socket.entry)
      const answer = await askNode(socket, request, signal)
      if (answer !== undefined) receive(answer)
    } catch (error) {
      if (!isDead(error as NodeJS.ErrnoException)) errors.push(error as NodeJS.ErrnoException)
      else await folder.remove(socket)
    } finally {
      silent?.delete(socket.entry)
    }
  }
  const found = await folder.find()
  await Promise.all(found.filter(({ entry }) => entry !== except).map(askOne))
  return errors
}
