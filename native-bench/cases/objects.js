/** @import { Case, Variant } from '../types.js' */
import { isDeepStrictEqual } from 'node:util'
import { check, keepCalling, measuredSeconds, warmUp } from '../lib/load.js'

/** @typedef {Variant & { bytes: number, outstanding: number }} ObjectVariant */

/** A record as in an application, 90 to 100 bytes as JSON. @param {number} n */
const record = (n) => ({ id: n, name: `user ${n % 1_000}`, email: `user${n % 1_000}@example.org`, active: n % 2 === 0, score: n / 8, tags: ['a', 'b'] })

/** An object of about `bytes` as JSON. @param {number} bytes @param {number} n */
export const objectOf = (bytes, n) =>
  bytes <= 128 ? { ...record(n), items: [] } : { ...record(n), items: Array.from({ length: Math.round(bytes / 108) - 1 }, (_, i) => record(i)) }

/** One answer in so many is compared in full, which costs more than the call; the others by their number. */
const DEEP_EVERY = 64

/** @type {Case<ObjectVariant>} */
export default {
  name: 'objects',
  title: 'Objects there and back',
  about: 'A plain object, of the given size as JSON, goes to the worker and comes back. The floors carry as many raw bytes.',
  variants: [
    { key: '1KB', title: '1 KB, 128 outstanding', bytes: 1_024, outstanding: 128, quick: true, page: { often: true } },
    { key: '100B', title: '100 B, 128 outstanding', bytes: 100, outstanding: 128 },
    { key: '64KB', title: '64 KB, 16 outstanding', bytes: 65_536, outstanding: 16 },
  ],
  metrics: {
    perSecond: { title: 'calls', unit: '/s', digits: 0, better: 'more' },
    hostMicros: { title: "host's CPU for each call", unit: 'µs', digits: 1, better: 'less' },
  },
  async measure({ open, variant: { bytes, outstanding }, quick }) {
    const measured = measuredSeconds(quick)
    const pool = await open({ workers: 2 })
    const values = Array.from({ length: outstanding }, (_, caller) => objectOf(bytes, caller))
    let calls = 0
    const call = async (/** @type {number} */ caller) => {
      const value = /** @type {{ id: number }} */ (values[caller])
      value.id = calls++
      const answer = /** @type {{ id: number }} */ (await pool.call('echo', value))
      check(answer.id === value.id, 'another object came back')
      if (value.id % DEEP_EVERY === 0) check(isDeepStrictEqual(answer, value), 'an object came back altered')
    }
    await warmUp(outstanding, call)
    const { perSecond, hostMicros } = await keepCalling({ outstanding, seconds: measured }, call)
    await pool.close()
    return { perSecond, hostMicros }
  },
  floor: ({ bytes, outstanding }, quick) => ({ mode: 'throughput', outstanding, size: bytes, seconds: measuredSeconds(quick) }),
  fromFloor: ({ perSecond = Number.NaN, hostMicros = Number.NaN }) => ({ perSecond, hostMicros }),
}
