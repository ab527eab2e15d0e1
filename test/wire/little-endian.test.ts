import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readF64, readU16, readU32, writeF64, writeU16, writeU32 } from '../../src/wire/little-endian.js'

test('numbers have the bytes that Buffer gives them', () => {
  const u16 = fc.integer({ min: 0, max: 0xffff })
  const u32 = fc.integer({ min: 0, max: 0xffff_ffff })
  fc.assert(
    fc.property(u16, u32, fc.double(), (small, large, real) => {
      const expected = Buffer.alloc(16, 0xee)
      expected.writeUInt16LE(small, 1)
      expected.writeUInt32LE(large, 3)
      expected.writeDoubleLE(real, 7)
      const bytes = Buffer.alloc(16, 0xee)
      writeU16(bytes, 1, small)
      writeU32(bytes, 3, large)
      writeF64(bytes, 7, real)
      expect(bytes).toEqual(expected)
      expect([readU16(bytes, 1), readU32(bytes, 3), readF64(bytes, 7)]).toEqual([small, large, real])
    }),
  )
})

test('of a larger number the low bits are written', () => {
  const bytes = Buffer.alloc(6)
  writeU16(bytes, 0, 65_537)
  writeU32(bytes, 2, 2 ** 32 + 5)
  expect([readU16(bytes, 0), readU32(bytes, 2)]).toEqual([1, 5])
})
