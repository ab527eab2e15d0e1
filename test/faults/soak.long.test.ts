import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { Host } from '../fixtures/hosts.js'

interface Report {
  counts: Record<'submitted' | 'succeeded' | 'failed' | 'cancelled' | 'lost' | 'began' | 'deaths' | 'verified' | 'lostWithoutCause' | 'begunTwice', number>
  done: { faults: number }
  violationCount: number
  left: number
  ended: { code: number | null }
}

const seed = Number(process.env.PREFORK_SEED ?? (Math.random() * 2 ** 31) | 0)

it(`promises 1 to 11: ten seconds of load with twenty faults a second break no promise (PREFORK_SEED=${seed})`, async () => {
  const soak = new Host(process.execPath, [fileURLToPath(new URL('../soak/run.js', import.meta.url)), '--seconds', '10', '--seed', String(seed)])
  const ended = await soak.ends(120_000)
  expect(soak.lines.filter((line) => line.startsWith('VIOLATION'))).toEqual([])
  const { counts, done, ...report } = await soak.reported<Report>('report')
  expect(report).toMatchObject({ violationCount: 0, left: 0, ended: { code: 0 } })
  expect(counts).toMatchObject({ lostWithoutCause: 0, begunTwice: 0, verified: counts.submitted })
  expect(counts.succeeded + counts.failed + counts.cancelled + counts.lost).toBe(counts.submitted)
  // The faults took place: workers died, jobs began.
  for (const count of [done.faults, counts.deaths, counts.began, counts.succeeded]) expect(count).toBeGreaterThan(0)
  expect(ended).toEqual({ code: 0, signal: null })
  expect(soak.stderr).toBe('')
}, 150_000)
