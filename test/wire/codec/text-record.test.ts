import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, encode } from '../../../src/wire/codec/index.js'
import { TextRecords } from '../../../src/wire/codec/text-record.js'

const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.string({ maxLength: 40 }), fc.uuid(), fc.constant('\ud800'))

const holds = (records: TextRecords): void =>
  fc.assert(
    fc.property(texts, (text) => {
      expect(decode(records.encode(text), 4)).toEqual({ id: text })
    }),
  )

describe('a record of one text', () => {
  it('decodes to the object', () => {
    holds(new TextRecords('id', 4))
  })

  it("also when the codec's shapes were full at first, and have been dropped since", () => {
    const records = new TextRecords('id', 4)
    for (let key = 0; key < 5_000; key++) encode({ [`before${key}`]: key }, 0)
    records.encode('')
    for (let key = 0; key < 5_000; key++) encode({ [`after${key}`]: key }, 0)
    holds(records)
  })
})
