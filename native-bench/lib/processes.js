// What Linux tells of processes and their threads.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** CPU time of each thread of a process, ms, by its id. @param {number} pid @returns {Map<number, number>} */
export const threadCpu = (pid) =>
  new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      try {
        return [[Number(thread), Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6]]
      } catch {
        // It has ended.
        return []
      }
    }),
  )

/** CPU time of a process with its threads, ms. @param {number} pid */
export const cpuMs = (pid) => [...threadCpu(pid).values()].reduce((sum, ms) => sum + ms, 0)

/** @param {number} pid @param {string} name */
export const memoryMB = (pid, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1_024

/** Bytes that a process has written, with its threads. @param {number} pid */
export const writtenBytes = (pid) => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])

/** @param {number} pid */
const parentOf = (pid) => {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
    return Number(afterName.split(' ')[1])
  } catch {
    return undefined
  }
}

/** @param {number} pid */
export const childrenOf = (pid) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid)

/** The sockets in a table of the kernel. @param {string} path */
const inodesIn = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => line.trim().split(/\s+/)[9] ?? [])

/** How many TCP sockets a process has open. @param {number} pid */
export const tcpSockets = (pid) => {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => inodesIn(`/proc/${pid}/net/${table}`)))
  return readdirSync(`/proc/${pid}/fd`).filter((descriptor) => {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1]
      return inode !== undefined && inodes.has(inode)
    } catch {
      // It was closed meanwhile.
      return false
    }
  }).length
}
