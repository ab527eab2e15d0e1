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
    'with a frozen Error and frozen iterator prototypes gets results and errors': {
      names: ERRORS,
      mapped: [1, 2],
      sent: 'Error',
    },
  })
})
