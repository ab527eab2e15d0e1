import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { gone } from '../fixtures/support.js'

interface Books {
  before: object
  after: object
  active: string[]
}

describe('promise 6: a host that has nothing more to say', () => {
  it.each([['never ran a job'], ['is idle'], ['has a stream half read'], ['has closed'], ['has closed after faults'], ['has terminated'], ['could not start']])(
    'exits by itself: it %s',
    async (what) => {
      const host = startHost('leaves.js', [what])
      const [, ...workers] = await host.says<number[]>('pids')
      expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
      expect(await host.says('done')).toBe(what)
      await gone(workers, 4_000)
      expect(host.stderr).toBe('')
      if (!what.startsWith('has closed') && !what.startsWith('has terminated') && what !== 'could not start') return
      const { before, after, active } = await host.says<Books>('books')
      expect(after).toEqual(before)
      expect(active).toEqual([])
    },
  )

  it('is kept alive by a pending job', async () => {
    const host = startHost('leaves.js', ['has a job pending'])
    expect(await host.says('result')).toBe('slept')
    expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
  })

  it('is kept alive by jobs that wait for their turn', async () => {
    const host = startHost('leaves.js', ['has a queue pending'])
    for (let index = 0; index < 6; index += 1) expect(await host.says(`result${index}`)).toBe(index)
    expect(await host.ends(10_000)).toEqual({ code: 0, signal: null })
  })

  it('gives the reason when the start fails', async () => {
    const host = startHost('leaves.js', ['could not start'])
    expect(await host.says('error')).toBe('WorkerStartError')
  })
})

describe('promise 5: a host whose wall clock jumps', () => {
  it('keeps its limits', async () => {
    const host = startHost('clock-set-back.js')
    expect(await host.says('outcome')).toEqual(['TimeLimitError', 'answered', 'fine'])
    expect(await host.says('later')).toBe('fine')
    expect(await host.ends()).toEqual({ code: 0, signal: null })
  })
})
