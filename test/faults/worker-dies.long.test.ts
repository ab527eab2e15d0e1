import { describe } from 'vitest'
import { deaths, OFTEN } from './worker-dies.js'

describe('promises 1, 3: a worker that dies during a job', () => {
  deaths((how) => !OFTEN.includes(how))
})
