/** @import { Metrics } from '../types.js' */
// One measurement in a process of its own, that leaves nothing behind.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ONE = fileURLToPath(new URL('../one.js', import.meta.url))
const FIGURES = 3
/** What a process may still hold of its pipes after its end: peers' children inherit them. */
const LEFTOVERS_MS = 1_000
const KEPT_STDERR = 4_096

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

/** @param {number | null} code @param {NodeJS.Signals | null} signal @param {string} stderr */
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
export const measureOne = (args, seconds) =>
  new Promise((resolve) => {
    // A group of its own, so that its whole tree can be ended. prefork's workers lead groups of their own; they leave with their host.
    const child = spawn(process.execPath, [ONE, ...args], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], detached: true })
    current = child.pid
    let stderr = ''
    let figures = ''
    let late = false
    const timer = setTimeout(() => {
      late = true
      killGroup(child.pid)
    }, seconds * 1_000)
    child.stderr?.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-KEPT_STDERR)
    })
    child.stdio[FIGURES]?.on('data', (chunk) => {
      figures += chunk
    })
    child.once('error', (error) => resolve({ reason: error.message }))
    child.once('exit', () => {
      clearTimeout(timer)
      killGroup(child.pid)
      setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy()
      }, LEFTOVERS_MS).unref()
    })
    child.once('close', (code, signal) => {
      current = undefined
      if (late) resolve({ reason: `not done after ${seconds} s` })
      else if (code === 0 && figures !== '') resolve({ metrics: JSON.parse(figures) })
      else resolve({ reason: reasonOf(code, signal, stderr) })
    })
  })
