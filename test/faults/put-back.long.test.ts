import { describe } from 'vitest'
import { crashing, damages, lostAfter, protocolErrors } from './put-back.js'

describe('promises 1, 2: jobs that a dead worker had not accepted', () => {
  crashing(20)
  lostAfter([3])
})

describe('promise 2: a worker whose pipes its task has damaged', () => {
  damages([
    ['its jobs pipe closed', 'closeFd', [3]],
    ['its lifeline closed', 'closeFd', [5]],
    ['a little junk in its results pipe', 'junk', [4, 3]],
    ['junk on its lifeline', 'junk', [5, 1_000]],
  ])
  protocolErrors([false])
})
