/** @import { Metrics } from '../types.js' */
// One measurement in a process of its own, that leaves nothing behind.
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const ONE = fileURLToPath(new URL('../one.js', import.meta.url))
const FIGURES = 3
/** What a process may still hold of its pipes after its end: peers' children inherit them. */
const LEFTOVERS_MS = 1_000

/** Ends a process and all of its group. @param {number | undefined} pid */
const killGroup = (pid) => {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // There is nothing left of it.
  }
}

/** The process that is measured at this moment. @type {number | undefined} */
let current

/** Ends what is being measured, for a runner that is interrupted. */
export const abandon = () => killGroup(current)

/** The first line of what a process said that tells why it failed. @param {string} stderr */
const complaint = (stderr) => {
  const lines = stderr.split('\n').map((line) => line.trim())
  return lines.find((line) => /^(\w*Error\b|AssertionError|FATAL)/.test(line)) ?? lines.findLast((line) => line !== '') ?? ''
}

/** @param {number | undefined} code @param {string | undefined} signal @param {string} stderr */
const reasonOf = (code, signal, stderr) => {
  // Node's own code for a top-level await that nothing can settle any more.
  if (code === 13) return 'a promise stayed pending for ever'
  const said = complaint(stderr)
  return `the host ended with ${signal ?? `code ${code}`}${said === '' ? '' : `: ${said}`}`
}

/**
 * @param {string[]} args of one.js: case, variant, pool and perhaps "quick"
 * @param {number} seconds after which it counts as stuck
 * @returns {Promise<{ metrics: Metrics } | { reason: string }>}
 */
export const measureOne = async (args, seconds) => {
  // A group of its own, so that its whole tree can be ended. prefork's workers lead groups of their own; they leave with their host.
  const child = execa(process.execPath, [ONE, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
    reject: false,
    timeout: seconds * 1_000,
    killSignal: 'SIGKILL',
  })
  current = child.pid
  child.once('exit', () => {
    killGroup(child.pid)
    setTimeout(() => {
      for (const stream of child.stdio) stream?.destroy()
    }, LEFTOVERS_MS).unref()
  })
  const { exitCode, signal, stderr, stdio, timedOut, originalMessage } = await child
  current = undefined
  if (timedOut) return { reason: `not done after ${seconds} s` }
  if (exitCode === 0 && stdio[FIGURES]) return { metrics: JSON.parse(stdio[FIGURES]) }
  return { reason: child.pid === undefined ? String(originalMessage) : reasonOf(exitCode, signal, stderr) }
}
