import { describe } from 'vitest'
import { fuzzChild, readsCorpus } from './run-child.js'

describe('promise 7: a reader of received bytes', () => {
  readsCorpus(fuzzChild(), true)
})
