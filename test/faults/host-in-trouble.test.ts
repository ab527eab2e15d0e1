import { describe, expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'

/** The conditions and what the host must report; see test/fixtures/hosts/adverse-conditions.js. */
const CONDITIONS: Record<string, object> = {
  'that blocks its event loop for 5 s while workers answer counts every answer': {
    slept: ['slept', 'slept too'],
    marks: 200,
    once: 200,
    large: expect.anything(),
    unexpected: [],
  },
  'whose task module throws at the second start rejects the waiting jobs and recovers': {
    waiting: ['WorkerStartError: broken since the last start'],
    bounded: true,
    again: true,
  },
  'whose worker gets no more memory from the kernel fails that job alone': {
    limited: 0,
    large: 'RangeError',
    kept: true,
    heap: expect.stringMatching(/^(WorkerLostError|RangeError)$/),
    again: true,
  },
  'whose task module creates a pool while it loads gets an error that names the module': {
    answered: expect.stringMatching(/Error$/),
    named: true,
    bounded: true,
  },
  'whose wall clock, and that of its workers, runs backwards keeps its limits': {
    limited: 'TimeLimitError',
    soft: 'was asked',
    slept: 'slept',
    cancelled: 'TimeoutError',
    workersDied: 1,
  },
  'with an Error.prepareStackTrace of its own, even one that throws, gets the same errors': {
    names: ['Error: five', 'WorkerLostError', 'TimeLimitError', 'TaskNotFoundError'],
    same: true,
  },
  'with a frozen Error and frozen iterator prototypes gets results and errors': {
    names: ['Error: five', 'WorkerLostError', 'TimeLimitError', 'TaskNotFoundError'],
    mapped: [1, 2],
    sent: 'Error',
  },
  'that changes its directory resolves a relative --import as at the start': { before: true, after: true },
}

describe('promises 3, 8, 9: a host', () => {
  it.each(Object.entries(CONDITIONS))('%s', async (what, expected) => {
    const host = startHost('adverse-conditions.js', [what])
    expect(await host.reported('outcome')).toEqual({ ...expected, children: 0 })
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  })
})
