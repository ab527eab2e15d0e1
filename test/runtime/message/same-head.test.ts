import { describe, expect, it } from 'vitest'
import { decodeJob } from '../../../src/runtime/message/job.js'
import { pack } from '../../../src/runtime/message/msgpack/pack.js'

const read = (value: unknown): unknown => decodeBytes(pack(value, '', 1_000_000))
const decodeBytes = (body: Buffer): unknown =>
  decodeJob(body, { contentType: 'application/msgpack', contentEncoding: undefined, schemaVersion: 1 }, { maxBodySize: 1_000_000 })

describe('a body that begins as the one before', () => {
  it('is read to its end, and as itself', () => {
    for (const args of [[], [1], ['x'.repeat(500)], [{ task: 'other', args: [2] }], [[[]]], [null]]) {
      for (let times = 0; times < 2; times++) expect(read({ task: 'resize', args })).toEqual({ task: 'resize', args })
    }
    expect(read({ task: 'resizf', args: [] })).toEqual({ task: 'resizf', args: [] })
    const long = 't'.repeat(200)
    for (const args of [[1], [2]]) expect(read({ task: long, args })).toEqual({ task: long, args })
  })

  it('is refused for what is refused in any', () => {
    read({ task: 'resize', args: [] })
    expect(() => read({ task: 'resize', args: 'none' })).toThrow("has 'args' that are not an array")
    expect(read({ task: 'resize', args: null })).toEqual({ task: 'resize', args: [] })
    const whole = pack({ task: 'resize', args: [1, 2] }, '', 1_000)
    expect(() => decodeBytes(whole.subarray(0, -1))).toThrow('is not MessagePack')
    expect(() => decodeBytes(Buffer.concat([whole, whole]))).toThrow('bytes behind its end')
    let deep: unknown[] = []
    for (let depth = 1; depth < 126; depth++) deep = [deep]
    const refusal = (value: unknown): string => {
      try {
        read(value)
        return 'none'
      } catch (error) {
        return (error as Error).message
      }
    }
    for (let depth = 0; depth < 1_000; depth++) {
      deep = [deep]
      // The first has a head of its own, the second one that is known.
      read({ task: 'other', args: [] })
      const first = refusal({ task: 'resize', args: deep })
      read({ task: 'resize', args: [] })
      expect(refusal({ task: 'resize', args: deep })).toBe(first)
      if (first !== 'none') return
    }
    throw new Error('No depth was too deep.')
  })

  it('may have other keys, or the same in another order', () => {
    for (let times = 0; times < 2; times++) {
      expect(read({ args: [1], task: 'resize' })).toEqual({ task: 'resize', args: [1] })
      expect(read({ task: 'resize', args: [1], context: 2 })).toEqual({ task: 'resize', args: [1], context: 2 })
      expect(read({ task: 'resize', kwargs: { a: 1 } })).toEqual({ task: 'resize', args: [], kwargs: { a: 1 } })
    }
  })
})
