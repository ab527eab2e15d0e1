import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { lstat, readdir, readlink, rm, stat } from 'node:fs/promises'
import type { Server } from 'node:net'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { newSocketName, socketPath } from '../../util/socket-path.js'

/** A node's control socket. */
export interface SocketFile {
  /** What is found beside the file: the socket, or a link to it where its path would be too long. */
  readonly entry: string
  readonly path: string
}

/** The names in the private folder. */
const LINKED = /^[0-9a-f]{16}-[0-9a-f]{12}\.ctl$/

/** The folder that the socket is bound in before it gets its path: the path in it is no longer. */
const bindFolder = (path: string): string => path.replace(/\.ctl$/, '.d')

/**
 * Lets `server` listen on `path`. It is bound in a folder of this user alone: nobody else can connect before the socket has its mode. libuv removes
 * the path that it has bound, also when the process dies by an exception. A socket that was renamed stays, and its refusal shows that the node is dead.
 */
const listenAt = async (server: Server, path: string): Promise<void> => {
  const folder = bindFolder(path)
  const bound = join(folder, 's')
  mkdirSync(folder, { mode: 0o700 })
  try {
    await new Promise<void>((resolve, reject) => {
      // In a worker of a cluster the primary process would listen otherwise.
      // A server that is closed before it listens says so with this event alone.
      const closed = (): void => reject(new Error('the node was closed'))
      server
        .once('error', reject)
        .once('close', closed)
        .listen({ path: bound, exclusive: true }, () => {
          server.off('error', reject).off('close', closed)
          resolve()
        })
    })
    chmodSync(bound, 0o600)
    renameSync(bound, path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const statOf = (path: string) => lstat(path).catch(() => undefined)

/** The control sockets of the nodes that share a file. They lie beside it, so that everybody who knows the file finds them. */
export class SocketFolder {
  readonly #file: string
  readonly #entryPattern = /^[0-9a-f]{12}\.ctl$/

  /** `file`: a real path. */
  constructor(file: string) {
    this.#file = file
  }

  /** Lets `server` listen on a new socket of this folder. Rejects when it cannot be made. */
  async listen(server: Server): Promise<SocketFile> {
    const name = newSocketName(this.#file, 'ctl')
    if (name === undefined) throw new Error('there is no private folder in the temporary directory whose path is short enough for a socket')
    const path = socketPath(this.#file, name)
    await listenAt(server, path)
    if (!isAbsolute(name)) return { entry: path, path }
    const entry = join(dirname(this.#file), `${basename(this.#file)}${basename(path).slice(-'-012345678901.ctl'.length)}`)
    try {
      symlinkSync(path, entry)
    } catch (error) {
      rmSync(path, { force: true })
      throw error
    }
    return { entry, path }
  }

  /** Sockets of nodes, also of those that are dead: those of this user and of the owner of the file. */
  async find(): Promise<SocketFile[]> {
    const prefix = `${basename(this.#file)}-`
    const folder = dirname(this.#file)
    const names = (await readdir(folder)).filter((name) => name.startsWith(prefix) && this.#entryPattern.test(name.slice(prefix.length)))
    if (names.length === 0) return []
    const owner = await stat(this.#file).catch(() => undefined)
    const owners = new Set([process.getuid?.(), owner?.uid])
    const found = await Promise.all(names.map((name) => this.#read(join(folder, name), owners)))
    return found.filter((each) => each !== undefined)
  }

  async #read(entry: string, owners: ReadonlySet<number | undefined>): Promise<SocketFile | undefined> {
    const own = await statOf(entry)
    if (own === undefined || !owners.has(own.uid)) return undefined
    if (own.isSocket()) return { entry, path: entry }
    if (!own.isSymbolicLink()) return undefined
    const path = await readlink(entry).catch(() => '')
    // Whatever the owner of the file has made of the link: no other file is connected to, or removed.
    if (!isAbsolute(path) || !LINKED.test(basename(path))) return undefined
    const target = await statOf(path)
    // A link whose socket is gone is that of a dead node.
    return target === undefined || (target.isSocket() && owners.has(target.uid)) ? { entry, path } : undefined
  }

  /** Removes the socket of a node that listens no more. It may be gone already, or this user may not be allowed to: neither is an error. */
  async remove({ entry, path }: SocketFile): Promise<void> {
    await Promise.all([...new Set([entry, path])].map((each) => rm(each, { force: true }).catch(() => {})))
  }
}
