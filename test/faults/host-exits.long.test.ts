import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { exits } from './host-exits.js'

describe('promise 6: a host with nothing left to do', () => {
  exits(['never ran a job', 'has a stream half read', 'has closed', 'has terminated'])
})

describe('promise 5: a host whose wall clock jumps', () => {
  it('keeps its time limits', async () => {
    const host = startHost('clock-set-back.js')
    expect(await host.reported('outcome')).toEqual(['TimeLimitError', 'answered', 'fine'])
    expect(await host.reported('later')).toBe('fine')
    expect(await host.ends()).toEqual({ code: 0, signal: null })
  })
})
