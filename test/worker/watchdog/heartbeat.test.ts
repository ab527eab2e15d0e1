import { describe, expect, it } from 'vitest'
import { untilBeat } from '../../../src/worker/watchdog/heartbeat.js'

const INTERVAL = 1_000

/** When a worker of this host, whose clock shows this time, sends its next heartbeat. */
const next = (now: number, host: number): number => now + untilBeat(now, INTERVAL, host)

describe('heartbeats', () => {
  it('of the workers of one host are sent together, whenever each worker was started', () => {
    const first = next(5_000_123.25, 4711)
    for (const later of [0.5, 40, 260, 499, 990]) expect((next(5_000_123.25 + later, 4711) - first) % INTERVAL).toBeCloseTo(0)
  })

  it('of different hosts are sent at different times', () => {
    const phases = new Set(Array.from({ length: 100 }, (_, pid) => Math.round(next(7_000, pid) % INTERVAL)))
    expect(phases.size).toBe(100)
  })

  it('are sent once in an interval, also when the timer fired early or late', () => {
    let now = next(123, 42)
    for (const off of [-0.9, 0, 3, 30, -0.5, 200, 0]) {
      const beat = next(now + off, 42)
      expect(beat - now).toBeGreaterThan(INTERVAL / 2)
      expect(beat - now).toBeLessThan(INTERVAL * 1.5)
      now = beat
    }
  })
})
