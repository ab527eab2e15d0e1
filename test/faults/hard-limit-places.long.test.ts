import { describe } from 'vitest'
import { hardLimitSites, OFTEN } from './hard-limit-places.js'

describe('promise 5: a hard limit', () => {
  hardLimitSites((site) => !OFTEN.includes(site))
})
