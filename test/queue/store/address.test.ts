import { homedir } from 'node:os'
import { expect, it } from 'vitest'
import { storeAddress } from '../../../src/queue/store/address.js'

it.each(['memory:', 'memory:a', 'sqlite:./x.db', 'sqlite:x.db', 'sqlite:/abs/x.db', 'sqlite:./~x.db', 'sqlite:./what?.db', 'sqlite:../a=b.db'])(
  'takes %s',
  (address) => {
    expect(storeAddress('store', address)).toBe(address)
  },
)

it.each([
  ['sqlite:', "'sqlite:./jobs.db' or 'memory:'"],
  ['redis://here', "'sqlite:./jobs.db' or 'memory:'"],
  ['sqlite::memory:', "'memory:' for a queue in memory"],
  ['sqlite::memory:?cache=shared', "'memory:' for a queue in memory"],
  ['sqlite:file:x.db', "a path after 'sqlite:', not a URL: 'sqlite:./x.db' or 'sqlite:/abs/x.db'"],
  ['sqlite://x.db', "a path after 'sqlite:', without the '//' of a URL: 'sqlite:./x.db', or 'sqlite:/abs/x.db'"],
  ['sqlite:///abs/x.db', "a path after 'sqlite:', without the '//' of a URL: 'sqlite:/abs/x.db'"],
  ['sqlite:~/x.db', `a path without '~', which only a shell expands: 'sqlite:${homedir()}/x.db'`],
  ['sqlite:./x.db?mode=ro', "a path alone, as it takes no parameters: 'sqlite:./x.db'"],
  ['sqlite:/a?b/x.db?mode=ro&cache=shared', "a path alone, as it takes no parameters: 'sqlite:/a?b/x.db'"],
])('refuses %s, and says what to write', (address, wants) => {
  expect(() => storeAddress('store', address)).toThrow(new TypeError(`Option 'store' must be ${wants}; it was given '${address}'.`))
})
