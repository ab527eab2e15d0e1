import { expect, test } from 'vitest'
import { type CallAnswer, HostCall } from '../../../src/pool/jobs/calls.js'
import { CallAnswers } from '../../../src/pool/worker/call-answers.js'
import { decode } from '../../../src/wire/codec/index.js'
import { callNumberOf, deliveryOf, FRAME_HEAD, flagsOf, kindOf, LENGTH_BYTES, REPLY_HEAD } from '../../../src/wire/frame.js'
import { FLAG_ERROR, Kind } from '../../../src/wire/messages.js'

const setUp = (maxMessageSize = 10_000) => {
  const later: (() => void)[] = []
  let writes = 0
  const answers = new CallAnswers(
    maxMessageSize,
    (fn) => later.push(fn),
    () => writes++,
  )
  const all = new Set<HostCall>()
  const add = (number: number, answer: CallAnswer): HostCall => {
    const call = new HostCall(number, 'name', 9, all, answers)
    call.answered(answer)
    return call
  }
  const next = (): unknown[] | undefined => {
    const parts = answers.next()
    if (parts === undefined) return undefined
    const frame = Buffer.concat(parts)
    expect(frame.readUInt32LE(0)).toBe(frame.length - LENGTH_BYTES)
    expect([kindOf(frame, LENGTH_BYTES), deliveryOf(frame, LENGTH_BYTES)]).toEqual([Kind.REPLY, 9])
    return [callNumberOf(frame, FRAME_HEAD), flagsOf(frame, LENGTH_BYTES), decode(frame, FRAME_HEAD + REPLY_HEAD)]
  }
  return { answers, all, add, next, later, writes: () => writes }
}

test('answers become frames when they are asked for, in order', () => {
  const { add, next, all, later, writes } = setUp()
  const large = Buffer.alloc(9_000, 1)
  const value: unknown[] = ['a']
  add(1, { value })
  add(2, { value: large })
  add(3, { error: new RangeError('no') })
  expect([all.size, later.length, writes()]).toEqual([3, 1, 0])
  later[0]!()
  expect(writes()).toBe(1)
  value.push('b')
  expect(next()).toEqual([1, 0, ['a', 'b']])
  expect(next()).toEqual([2, 0, large])
  expect(next()).toEqual([3, FLAG_ERROR, expect.any(RangeError)])
  expect([next(), all.size]).toEqual([undefined, 0])
  add(4, { value: 4 })
  expect(later).toHaveLength(2)
})

test('an answer that cannot be sent, or is too large, is an error instead', () => {
  const { add, next } = setUp(8_000)
  add(1, { value: [() => {}] })
  add(2, { value: Buffer.alloc(12_001) })
  add(3, { error: new Error('x'.repeat(8_001)) })
  const messages = [next(), next(), next()].map((frame) => [frame![1], (frame![2] as Error).message.replace(/has 1[67] KB/, 'has 1_ KB')])
  expect(messages).toEqual([
    [FLAG_ERROR, "The answer of the call 'name' cannot be sent: answer[0] is a function"],
    [FLAG_ERROR, "The answer of the call 'name' has 12 KB, more than maxMessageSize (8 KB)."],
    [FLAG_ERROR, "The error of the call 'name' has 1_ KB, more than maxMessageSize (8 KB)."],
  ])
})

test('what has ended is left out, and nothing is kept for a worker that is gone', () => {
  const { answers, add, next, all } = setUp()
  add(1, { value: 1 }).end()
  add(2, { value: 2 })
  expect(next()).toEqual([2, 0, 2])
  add(3, { value: 3 })
  answers.stop()
  add(4, { value: 4 })
  expect([next(), all.size]).toEqual([undefined, 0])
})
