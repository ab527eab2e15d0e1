/** @import { Case, Variant } from '../types.js' */
import { check, keepCalling, measuredSeconds, warmUp } from '../lib/load.js'

/** @typedef {Variant & { bytes: number, outstanding: number }} BufferVariant */

const KB = 1_024
const MB = 1_024 * KB

/** @type {Case<BufferVariant>} */
export default {
  name: 'buffers',
  title: 'Buffers there and back',
  about: 'A Buffer goes to the worker and comes back. It is copied, not transferred: the caller keeps it and sends it again.',
  variants: [
    { key: '64KB', title: '64 KB, 16 outstanding', bytes: 64 * KB, outstanding: 16, quick: true, page: { often: true } },
    { key: '1MB', title: '1 MB, 8 outstanding', bytes: MB, outstanding: 8, quick: true, page: { often: true } },
    { key: '32MB', title: '32 MB, 2 outstanding', bytes: 32 * MB, outstanding: 2, maxRounds: 3 },
  ],
  metrics: {
    perSecond: { title: 'calls', unit: '/s', digits: 1, better: 'more' },
    hostMicros: { title: "host's CPU for each call", unit: 'µs', digits: 0, better: 'less' },
  },
  chart: [
    { metric: 'perSecond', variant: '64KB' },
    { metric: 'perSecond', variant: '1MB' },
    { metric: 'perSecond', variant: '32MB' },
  ],
  timeout: 90,
  refuse: ({ binary }) => (binary ? undefined : 'JSON has no Buffers'),
  async measure({ open, variant: { bytes, outstanding }, quick }) {
    const measured = measuredSeconds(quick, bytes > MB ? 3 : 1)
    const pool = await open({ workers: 2, binary: true })
    const values = Array.from({ length: outstanding }, (_, caller) => Buffer.alloc(bytes, caller + 1))
    let calls = 0
    const call = async (/** @type {number} */ caller) => {
      const value = /** @type {Buffer} */ (values[caller])
      const number = calls++
      value.writeUInt32LE(number, 0)
      value.writeUInt32LE(number, bytes - 4)
      // In thread pools it arrives as a Uint8Array.
      const answer = /** @type {Uint8Array} */ (await pool.call('echo', value))
      check(answer instanceof Uint8Array && answer.length === bytes, 'no bytes, or not as many, came back')
      const view = new DataView(answer.buffer, answer.byteOffset, bytes)
      const same = view.getUint32(0, true) === number && view.getUint32(bytes - 4, true) === number && answer[bytes >> 1] === caller + 1
      check(same, "another caller's bytes came back")
    }
    await warmUp(outstanding, call)
    const { perSecond, hostMicros } = await keepCalling({ outstanding, seconds: measured }, call)
    await pool.close()
    return { perSecond, hostMicros }
  },
  floor: ({ bytes, outstanding }, quick) => ({ mode: 'throughput', outstanding, size: bytes, seconds: measuredSeconds(quick) }),
  fromFloor: ({ perSecond = Number.NaN, hostMicros = Number.NaN }) => ({ perSecond, hostMicros }),
}
