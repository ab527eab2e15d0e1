import { describe } from 'vitest'
import { endings, uninterrupted } from './cancel-ask.js'

describe("promise 4: a job with cancel: 'ask' that is cancelled while it runs", () => {
  uninterrupted([false])
  endings([
    ['passes its time limit', { timeLimit: 1_500 }, () => {}],
    ['passes its soft limit', { softTimeLimit: 1_500 }, () => {}],
  ])
})
