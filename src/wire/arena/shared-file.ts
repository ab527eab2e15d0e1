import { fstatSync, readvSync, type Stats, writevSync } from 'node:fs'

/** Memory under a descriptor, for one writer. The simulation has a model of it. */
export interface SharedFile {
  /** Writes all the parts, `bytes` together. False: there is no memory, or the descriptor is closed. */
  write(parts: readonly Uint8Array[], position: number, bytes: number): boolean
  /** Fills all the parts, `bytes` together. False: the file ends before, or the descriptor is closed. */
  read(parts: readonly Uint8Array[], position: number, bytes: number): boolean
}

/** The first page of a file is for the acceptance record of the worker, or for the number of places that the host has read: places begin behind it. */
export const FIRST_PAGE = 4_096

/** The file under this descriptor. Nothing throws: a task may have closed it. */
export const sharedFile = (fd: number): SharedFile => ({
  write: (parts, position, bytes) => {
    try {
      return writevSync(fd, parts, position) === bytes
    } catch {
      return false
    }
  },
  read: (parts, position, bytes) => {
    try {
      return readvSync(fd, parts, position) === bytes
    } catch {
      return false
    }
  },
})

/** The same for a worker, whose tasks may close the descriptor and open a file of their own under its number: nothing is written there. */
export const guardedFile = (fd: number): SharedFile => {
  const file = sharedFile(fd)
  const own = statOf(fd)
  const isOwn = (): boolean => {
    const now = statOf(fd)
    return own !== undefined && now?.ino === own.ino && now.dev === own.dev
  }
  return { ...file, write: (parts, position, bytes) => isOwn() && file.write(parts, position, bytes) }
}

const statOf = (fd: number): Stats | undefined => {
  try {
    return fstatSync(fd)
  } catch {
    return undefined
  }
}
