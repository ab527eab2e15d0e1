import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { gone } from '../fixtures/support.js'

interface Resources {
  before: object
  after: object
  active: string[]
}

describe('promise 6: a host with nothing left to do', () => {
  it.each([['never ran a job'], ['is idle'], ['has a stream half read'], ['has closed'], ['has closed after faults'], ['has terminated'], ['could not start']])(
    'exits by itself: it %s',
    async (what) => {
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
    },
  )

  it('stays alive for a pending job', async () => {
    const host = startHost('exits.js', ['has a job pending'])
    expect(await host.reported('result')).toBe('slept')
    expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
  })

  it('stays alive for queued jobs', async () => {
    const host = startHost('exits.js', ['has a queue pending'])
    for (let index = 0; index < 6; index += 1) expect(await host.reported(`result${index}`)).toBe(index)
    expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
  })

  it('gets the reason of a failed start', async () => {
    const host = startHost('exits.js', ['could not start'])
    expect(await host.reported('error')).toBe('WorkerStartError')
  })
})

describe('promise 5: a host whose wall clock jumps', () => {
  it('keeps its time limits', async () => {
    const host = startHost('clock-set-back.js')
    expect(await host.reported('outcome')).toEqual(['TimeLimitError', 'answered', 'fine'])
    expect(await host.reported('later')).toBe('fine')
    expect(await host.ends()).toEqual({ code: 0, signal: null })
  })
})
