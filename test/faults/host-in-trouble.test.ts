import { describe, expect } from 'vitest'
import { hostsInTrouble } from './host-in-trouble.js'

describe('promises 3, 8, 9: a host', () => {
  // The others: host-in-trouble.long.test.ts.
  hostsInTrouble({
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
  })
})
