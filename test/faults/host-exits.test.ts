import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { exits } from './host-exits.js'

describe('promise 6: a host with nothing left to do', () => {
  // The others: host-exits.long.test.ts.
  exits(['is idle', 'has closed after faults', 'could not start'])

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
})
