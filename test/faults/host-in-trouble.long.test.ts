import { describe, expect } from 'vitest'
import { ERRORS, hostsInTrouble } from './host-in-trouble.js'

describe('promises 3, 8, 9: a host', () => {
  hostsInTrouble({
    'whose worker gets no more memory from the kernel fails that job alone': {
      limited: 0,
      large: 'RangeError',
      kept: true,
      heap: expect.stringMatching(/^(WorkerLostError|RangeError)$/),
      again: true,
    },
    'with a frozen Error and frozen iterator prototypes gets results and errors': {
      names: ERRORS,
      mapped: [1, 2],
      sent: 'Error',
    },
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
    'with an Error.prepareStackTrace of its own that throws gets the same errors': {
      names: ERRORS,
      same: true,
    },
    'with an Error.prepareStackTrace of its own that returns anything gets the same errors': {
      names: ERRORS,
      same: true,
    },
    'that changes its directory resolves a relative --import as at the start': { before: true, after: true },
  })
})
