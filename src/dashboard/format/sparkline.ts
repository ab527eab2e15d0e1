const BARS = '▁▂▃▄▅▆▇█'

/** The last `width` values, the highest as a full bar. Nothing at all is the lowest bar. */
export const sparkline = (values: readonly number[], width: number): string => {
  const shown = values.slice(-width)
  const highest = Math.max(0, ...shown)
  return shown.map((value) => BARS[highest === 0 ? 0 : Math.min(BARS.length - 1, Math.ceil((value / highest) * (BARS.length - 1)))]).join('')
}
