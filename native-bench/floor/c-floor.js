/** @import { FloorAnswer, FloorPlan } from '../types.js' */
// node:child_process, not execa: each measured process loads this module.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Builds the floor unless it is built. Returns the reason of a failure. @returns {string | undefined} */
export const buildCFloor = () => {
  const { status, stderr, error } = spawnSync('make', ['-C', here, '--no-print-directory'], { encoding: 'utf8' })
  if (status === 0 && existsSync(`${here}floor`)) return undefined
  return error?.message ?? (stderr.trim().split('\n').at(-1) || `make ended with ${status}`)
}

/** @param {FloorPlan} plan @returns {FloorAnswer} */
export const driveCFloor = ({ mode, workers, outstanding, size, seconds }) => {
  const flags = { '--workers': workers, '--outstanding': outstanding, '--in': size, '--seconds': seconds }
  const args = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]))
  const { status, stdout, stderr, error } = spawnSync(`${here}floor`, [mode, ...args], { encoding: 'utf8' })
  if (error !== undefined) throw new Error(`the floor cannot be run (built by: make -C native-bench/floor): ${error.message}`)
  if (status !== 0) throw new Error(`the floor failed: ${stderr.trim()}`)
  return JSON.parse(stdout)
}
