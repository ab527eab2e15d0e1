import { expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { gone } from '../fixtures/support.js'

interface Resources {
  before: object
  after: object
  active: string[]
}

/** Tests hosts that do these things. */
export const exits = (doings: readonly string[]): void => {
  it.each(doings)('exits by itself: it %s', async (what) => {
    const host = startHost('exits.js', [what])
    const [, ...workers] = await host.reported<number[]>('pids')
    expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
    expect(await host.reported('done')).toBe(what)
    await gone(workers, 4_000)
    expect(host.stderr).toBe('')
    if (!what.startsWith('has closed') && !what.startsWith('has terminated') && what !== 'could not start') return
    const { before, after, active } = await host.reported<Resources>('resources')
    expect(after).toEqual(before)
    expect(active).toEqual([])
    if (what === 'could not start') expect(await host.reported('error')).toBe('WorkerStartError')
  })
}
