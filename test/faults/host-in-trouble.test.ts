import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'

/** The trouble is the host's own; see test/fixtures/hosts/trouble.js. */
const TROUBLES: Record<string, object> = {
  'blocks its own loop for 5 s while workers answer': {
    slept: ['slept', 'slept too'],
    marks: 200,
    once: 200,
    large: expect.anything(),
    unexpected: [],
  },
  'whose task module loads on the first start and throws on the second': {
    waiting: ['WorkerStartError: broken since the last start'],
    bounded: true,
    again: true,
  },
  'whose worker gets no more memory from the kernel': {
    limited: 0,
    large: 'RangeError',
    kept: true,
    heap: expect.stringMatching(/^(WorkerLostError|RangeError)$/),
    again: true,
  },
  'whose task module creates a pool while it loads': { answered: expect.stringMatching(/Error$/), named: true, bounded: true },
  'whose wall clock, and that of its workers, is set back again and again': {
    limited: 'TimeLimitError',
    soft: 'was asked',
    slept: 'slept',
    cancelled: 'TimeoutError',
    workersDied: 1,
  },
  'that formats stacks in its own way, or throws as it does': {
    names: ['Error: five', 'WorkerLostError', 'TimeLimitError', 'TaskNotFoundError'],
    same: true,
  },
  'whose Error, and what iterators inherit, is frozen': {
    names: ['Error: five', 'WorkerLostError', 'TimeLimitError', 'TaskNotFoundError'],
    mapped: [1, 2],
    sent: 'Error',
  },
  'that changes its directory, with a relative --import': { before: true, after: true },
}

describe('promises 3, 8, 9: a host', () => {
  it.each(Object.entries(TROUBLES))('%s', async (what, expected) => {
    const host = startHost('trouble.js', [what])
    expect(await host.says('outcome')).toEqual({ ...expected, children: 0 })
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  })
})
