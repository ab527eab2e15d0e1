import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const MB = 1_024 * 1_024

/** @param {string} file @param {string} name @returns {number} MB, NaN where there is no such file or line */
const kilobytesLine = (file, name) => {
  try {
    return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1]) / 1_024
  } catch {
    return Number.NaN
  }
}

/** Resets the peak of the resident memory, where Linux allows it. */
export const forgetPeak = () => {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // Otherwise the peak counts from the start of the process.
  }
}

/** The peak of the resident memory, MB. */
export const peakMB = () => {
  const peak = kilobytesLine('/proc/self/status', 'VmHWM')
  return Number.isNaN(peak) ? process.resourceUsage().maxRSS / 1_024 : peak
}

export const residentMB = () => process.memoryUsage().rss / MB

/** All descendants of a process. @param {number} pid @returns {number[]} */
const descendants = (pid) => {
  /** @type {Map<number, number[]>} */
  const children = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // It has exited meanwhile.
    }
  }
  const found = [pid]
  for (const each of found) found.push(...(children.get(each) ?? []))
  return found
}

/**
 * Memory of this process and all its descendants in MB: resident, and with shared pages divided among their processes (PSS).
 * NaN without /proc.
 */
export const treeMB = () => {
  if (process.platform !== 'linux') return { resident: Number.NaN, share: Number.NaN }
  const sum = (/** @type {string} */ name) => descendants(process.pid).reduce((all, pid) => all + kilobytesLine(`/proc/${pid}/smaps_rollup`, name), 0)
  return { resident: sum('Rss'), share: sum('Pss') }
}
