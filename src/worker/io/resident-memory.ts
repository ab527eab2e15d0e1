import { closeSync, openSync, readFileSync } from 'node:fs'

/** The numbers of stdin, stdout and stderr end here. */
const STDERR = 2

/** libuv before 1.51 (Node 20 and the first versions of 22) aborts the process when the file from which it reads the memory gets one of these numbers. */
const ABORTS_AT_STDIO = ((): boolean => {
  const [major = 0, minor = 0] = process.versions.uv.split('.').map(Number)
  return major === 1 && minor < 51
})()

/**
 * A task may have closed stdin, stdout or stderr. This opens /dev/null under their numbers.
 * A file that another thread opens next gets a higher number.
 */
const fillStandardDescriptors = (): void => {
  try {
    let fd: number
    do fd = openSync('/dev/null', 'r+')
    while (fd <= STDERR)
    closeSync(fd)
  } catch {
    // No descriptor is free, so none of these is.
  }
}

/** The resident memory of this process, bytes. For the main thread: no task runs meanwhile. */
export const residentMemory = (): number => {
  if (ABORTS_AT_STDIO) fillStandardDescriptors()
  return process.memoryUsage.rss()
}

let last = 0

/**
 * The same for the watchdog's thread. A task may close any descriptor at any moment, also that of the file which is being read.
 * Every version of libuv aborts the process then (`uv__slurp`), so on Linux this reads the file itself.
 */
export const residentMemoryBesideTasks = (): number => {
  if (process.platform !== 'linux') return residentMemory()
  fillStandardDescriptors()
  try {
    // Not as utf8: Node aborts when such a file is closed under it.
    const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
    if (kilobytes !== undefined) last = Number(kilobytes) * 1024
  } catch {
    // It was closed, or no descriptor is free: the last value counts until the next heartbeat.
  }
  return last
}
