import { describe, expect, it } from 'vitest'
import { Host, hostScript } from '../fixtures/hosts.js'

describe('promises 3, 9: a host', () => {
  it('with a hundred thousand queued jobs completes all of them within 250 MB', async () => {
    // The size of the young generation in Node 20: newer versions have a larger one.
    const host = new Host(process.execPath, ['--max-semi-space-size=16', hostScript('hundred-thousand.js')])
    const { right, peak, totals } = await host.reported<{ right: boolean; peak: number; totals: object }>('done')
    expect(right).toBe(true)
    expect(totals).toMatchObject({ submitted: 100_000, succeeded: 100_000 })
    expect(peak).toBeLessThan(250 * 1024 * 1024)
    expect(await host.ends()).toEqual({ code: 0, signal: null })
  })
})
