import { writeFileSync } from 'node:fs'
import { setTimeout } from '../util/node-time.js'

/** sched(7): with autogroups, the kernel shares the CPU out among sessions, by this value of each. Where a cgroup holds the process it has no effect. */
const AUTOGROUP = '/proc/self/autogroup'
/** The kernel takes one such value of an ordinary user in 100 ms, in the whole system, ms. */
const RETRY_MS = 120
/** Workers that start together wait for each other. */
const MAX_RETRIES = 100

/**
 * Lowers the priority of the calling thread, the one that runs the jobs, to this nice value. On Linux setpriority(2) acts on that thread alone,
 * and what it creates inherits the value; on macOS it acts on the whole process.
 */
export const raiseNiceness = (niceness: number): void => {
  if (niceness === 0) return
  // Loaded only here: it costs 0.4 ms of a start.
  const { getPriority, setPriority } = process.getBuiltinModule('node:os')
  try {
    // The host, or a start hook, may have a higher value already. It stays: to lower it takes a privilege (EACCES), and nobody asked for that.
    if (getPriority() >= niceness) return
    setPriority(niceness)
  } catch {
    // A sandbox refuses the calls. The worker has the priority of the host then, as without the option.
    return
  }
  if (process.platform === 'linux') raiseSession(niceness, MAX_RETRIES)
}

/** A worker is a session of its own: where the kernel shares by session, the values of threads in different sessions are never compared. */
const raiseSession = (niceness: number, retries: number): void => {
  try {
    writeFileSync(AUTOGROUP, String(niceness))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN' && retries > 0) setTimeout(() => raiseSession(niceness, retries - 1), RETRY_MS).unref()
  }
}
