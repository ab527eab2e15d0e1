import { expect, it } from 'vitest'
import { packageVersion } from '../../src/node/node-stats.js'

it('the version is that of the package', () => {
  expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/)
})
