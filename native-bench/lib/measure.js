/** @import { Metrics } from '../types.js' */
// Runs one measurement in a process of its own and ends everything that it started.
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const ONE = fileURLToPath(new URL('../one.js', import.meta.url))
const FIGURES = 3
/** ms to wait for the pipes of a process after its end: children of peers inherit them. */
const PIPE_CLOSE_MS = 1_000

/** Ends a process and all of its group. @param {number | undefined} pid */
const killGroup = (pid) => {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group has ended.
  }
}

/** The process of the current measurement. @type {number | undefined} */
let current

/** Ends the current measurement; for a runner that is interrupted. */
export const endMeasurement = () => killGroup(current)

/** The line of stderr that says why a process failed. @param {string} stderr */
const complaint = (stderr) => {
  const lines = stderr.split('\n').map((line) => line.trim())
  return lines.find((line) => /^(\w*Error\b|AssertionError|FATAL)/.test(line)) ?? lines.findLast((line) => line !== '') ?? ''
}

/** @param {number | undefined} code @param {string | undefined} signal @param {string} stderr */
const reasonOf = (code, signal, stderr) => {
  // Node's exit code for a top-level await that can never settle.
  if (code === 13) return 'a promise stayed pending for ever'
  const said = complaint(stderr)
  return `the host ended with ${signal ?? `code ${code}`}${said === '' ? '' : `: ${said}`}`
}

/**
 * @param {string[]} args of one.js: case, variant, pool and perhaps "quick"
 * @param {number} seconds after which it has hung
 * @param {string} [one] another program that measures
 * @returns {Promise<{ metrics: Metrics } | { reason: string }>}
 */
export const measureOne = async (args, seconds, one = ONE) => {
  // A process group of its own, so that its whole tree can be ended. prefork's workers have groups of their own and exit with their host.
  const child = execa(process.execPath, [one, ...args], {
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
    }, PIPE_CLOSE_MS).unref()
  })
  const { exitCode, signal, stderr, stdio, timedOut, originalMessage } = await child
  current = undefined
  if (timedOut) return { reason: `not done after ${seconds} s` }
  if (exitCode === 0 && stdio[FIGURES]) return { metrics: JSON.parse(stdio[FIGURES]) }
  return { reason: child.pid === undefined ? String(originalMessage) : reasonOf(exitCode, signal, stderr) }
}
