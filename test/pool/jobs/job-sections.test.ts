import { expect, test } from 'vitest'
import { DeliverySections, metaSection } from '../../../src/pool/jobs/job-sections.js'
import { mergeOptions } from '../../../src/pool/jobs/run-options.js'
import { decode } from '../../../src/wire/codec/index.js'
import { LENGTH_BYTES } from '../../../src/wire/frame.js'
import { read } from '../option-help.js'

const given = (options: object) => mergeOptions(read({}), { name: 'resize' }, options)

const held = (section: Buffer | undefined): unknown => {
  expect(section!.readUInt32LE(0)).toBe(section!.length - LENGTH_BYTES)
  return decode(section!.subarray(LENGTH_BYTES), 0)
}

test('the sections before the arguments hold the options of the call', () => {
  expect([metaSection(given({})), new DeliverySections().of(given({}))]).toEqual([undefined, undefined])
  for (const meta of [{ id: 'a' }, { id: '\ud800'.repeat(80) }, { context: null }, { id: 'a', context: [Buffer.alloc(20_000, 1)] }])
    expect(held(metaSection(given(meta)))).toEqual(meta)
  expect(held(metaSection(given({ calledAs: 'b' })))).toEqual({ name: 'b' })
})

test('the same delivery is not encoded twice, unless it can change', () => {
  const sections = new DeliverySections()
  const same = Object.freeze({ redelivered: false, attempt: 1, losses: 0, requeues: 0, queue: 'q' })
  const first = sections.of(given({ delivery: same }))
  expect(sections.of(given({ delivery: same }))).toBe(first)
  expect(held(first)).toEqual(same)
  let turn = 0
  const inner = { turn }
  const bare = { turn }
  const shifting = [
    bare,
    Object.freeze({ inner }),
    Object.freeze({
      get turn() {
        return turn
      },
    }),
  ]
  for (const delivery of shifting) {
    const before = held(sections.of(given({ delivery })))
    turn++
    Object.assign(inner, { turn })
    Object.assign(bare, { turn })
    expect(held(sections.of(given({ delivery })))).not.toEqual(before)
  }
  expect(held(sections.of(given({ delivery: same })))).toEqual(same)
})

test('a value that cannot be sent is refused with its path', () => {
  const odd = { trace: { end: () => {} } }
  expect(() => metaSection(given({ context: odd }))).toThrow('options.context.trace.end is a function')
  expect(() => new DeliverySections().of(given({ delivery: odd }))).toThrow('options.delivery.trace.end is a function')
})
