import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'

/** The longest path of a socket, bytes. Node 20 binds a longer one under a truncated name, in silence. */
export const MAX_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107

/** A folder of this user alone. Undefined: it cannot be had; somebody else may have made it. */
const privateFolder = (parent: string): string | undefined => {
  const user = process.getuid?.() ?? 0
  const folder = join(parent, `prefork-${user}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return undefined
  }
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() && stat.uid === user && (stat.mode & 0o077) === 0 ? folder : undefined
}

/**
 * A new name for a socket that belongs to the file at `path`: beside it, as a name, for a process that knows the folder under another
 * path; or absolute, in a private folder of the temporary directory, where the path would be too long. It is never used twice.
 */
export const newSocketName = (path: string, extension: 'sock' | 'ctl' = 'sock', temporary = tmpdir()): string | undefined => {
  const unique = randomBytes(6).toString('hex')
  const name = `${basename(path)}-${unique}.${extension}`
  if (Buffer.byteLength(join(dirname(path), name)) <= MAX_SOCKET_PATH) return name
  const folder = privateFolder(temporary)
  const short = folder === undefined ? undefined : join(folder, `${createHash('sha256').update(path).digest('hex').slice(0, 16)}-${unique}.${extension}`)
  return short !== undefined && Buffer.byteLength(short) <= MAX_SOCKET_PATH ? short : undefined
}

export const socketPath = (file: string, name: string): string => (isAbsolute(name) ? name : join(dirname(file), name))

/** The path that a socket is bound to before it gets its own one: no longer than that. */
export const boundPath = (path: string): string => path.replace(/\.sock$/, '.bind')
