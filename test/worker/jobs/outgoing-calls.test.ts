import { describe, expect, test } from 'vitest'
import { decode, encode } from '../../../src/wire/codec/index.js'
import { SerializationError } from '../../../src/wire/errors.js'
import { CALL_HEAD, callNameBytesOf, callNumberOf } from '../../../src/wire/frame.js'
import { FLAG_CALLS, FLAG_ERROR, Kind } from '../../../src/wire/messages.js'
import { deferred, type Frame, frameOf, Harness, jobFrame, sentBy, spin, terminated } from '../loop-harness.js'

/** A JOB that was given calls. */
const calling = (delivery: number, task = 0): Buffer => {
  const frame = jobFrame(delivery, task)
  frame[5]! |= FLAG_CALLS
  return frame
}

const reply = (delivery: number, number: number, value: unknown, flags = 0): Buffer => {
  const { body } = encode(value, 4, { replaceUnsendable: true })
  body.writeUInt32LE(number, 0)
  return frameOf(Kind.REPLY, delivery, body, flags)
}

const callOf = ({ payload }: Frame): unknown[] => {
  const argsAt = CALL_HEAD + callNameBytesOf(payload, 0)
  return [callNumberOf(payload, 0), payload.toString('utf8', CALL_HEAD, argsAt), decode(payload, argsAt)]
}

/** Calls of the job with this delivery. */
const callsOf = (harness: Harness, delivery: number) => {
  const job = harness.loop.running.find((each) => each.delivery === delivery)!
  return harness.loop.reports.currentOf(job).call
}

const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

describe('the calls of a job', () => {
  test('are written at once, with number, name and arguments; each gets its own answer', async () => {
    const harness: Harness = new Harness({
      ask: async () => {
        const call = callsOf(harness, 1)
        const all = [call('first', 1, 'two'), call('zweitß'), call('third')]
        return Promise.all(all)
      },
    })
    harness.give(calling(1))
    expect(harness.said).toEqual(['ACCEPTED 1', 'CALL 1', 'CALL 1', 'CALL 1'])
    expect(harness.of(Kind.CALL).map(callOf)).toEqual([
      [1, 'first', [1, 'two']],
      [2, 'zweitß', []],
      [3, 'third', []],
    ])
    harness.give(reply(1, 3, 'c'), reply(1, 1, { a: 1 }))
    await harness.turn()
    expect(harness.of(Kind.READY)).toEqual([])
    harness.give(reply(1, 2, undefined))
    await harness.turn()
    expect(sentBy(harness.of(Kind.READY)[0]!)).toEqual([{ a: 1 }, undefined, 'c'])
  })

  test('get no answer of another job or of an earlier one', async () => {
    const harness: Harness = new Harness(
      { ask: (): Promise<unknown> => callsOf(harness, harness.loop.running.at(-1)!.delivery)('name') },
      {},
      { concurrency: 2 },
    )
    harness.give(calling(1), calling(2))
    harness.give(reply(2, 1, 'second'), reply(7, 1, 'of no job'), reply(1, 9, 'of no call'))
    await harness.turn()
    expect(harness.of(Kind.READY).map((frame) => [frame.delivery, sentBy(frame)])).toEqual([[2, 'second']])
    harness.give(reply(2, 1, 'again'), reply(1, 1, 'first'))
    await harness.turn()
    expect(harness.of(Kind.READY).map((frame) => [frame.delivery, sentBy(frame)])).toEqual([
      [2, 'second'],
      [1, 'first'],
    ])
    expect(harness.broken).toEqual([])
  })

  test('an answer that is cut anywhere arrives, also while a call of another task is interrupted', async () => {
    const bytes = reply(1, 1, 'x'.repeat(50))
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const harness: Harness = new Harness({ ask: () => callsOf(harness, 1)('name') })
      harness.give(calling(1))
      harness.give(bytes.subarray(0, cut))
      harness.give(bytes.subarray(cut))
      await harness.turn()
      expect(sentBy(harness.of(Kind.READY)[0]!)).toBe('x'.repeat(50))
    }
    const harness: Harness = new Harness({ ask: () => callsOf(harness, 1)('name'), spin }, {}, { concurrency: 2 })
    harness.give(calling(1))
    terminated(() => harness.give(reply(1, 1, 'kept'), jobFrame(2, 1)))
    harness.loop.onInterrupted(2, 'cancel', 'at spin')
    await harness.turn()
    expect(harness.of(Kind.READY).map(({ delivery }) => delivery)).toEqual([2, 1])
    expect(sentBy(harness.of(Kind.READY)[1]!)).toBe('kept')
  })

  test('an error rejects, as does an answer that cannot be decoded', async () => {
    const harness: Harness = new Harness({ ask: () => Promise.all([outcomeOf(callsOf(harness, 1)('a')), outcomeOf(callsOf(harness, 1)('b'))]) })
    harness.give(calling(1))
    const bad = reply(1, 2, undefined)
    bad[bad.length - 1] = 0xff
    harness.give(reply(1, 1, new RangeError('refused'), FLAG_ERROR), bad)
    await harness.turn()
    const [first, second] = sentBy(harness.of(Kind.READY)[0]!) as { error: Error }[]
    expect(first!.error).toBeInstanceOf(RangeError)
    expect(second!.error).toBeInstanceOf(SerializationError)
    expect(second!.error.message).toContain("The answer of the call 'b' cannot be decoded")
  })

  test('end with their job, which leaves nothing behind', async () => {
    let left: Promise<unknown> | undefined
    const harness: Harness = new Harness({
      leave: () => {
        left = outcomeOf(callsOf(harness, 1)('name'))
        return 'done'
      },
    })
    harness.give(calling(1))
    expect(harness.said).toEqual(['ACCEPTED 1', 'CALL 1', 'READY 1'])
    expect(await left).toMatchObject({ error: { code: 'ERR_PREFORK_CALL_ENDED', message: expect.stringContaining('has ended') } })
    harness.give(reply(1, 1, 'late'))
    expect(harness.broken).toEqual([])
  })

  test('end when the host cancels the job; later ones are refused', async () => {
    const blocked = deferred()
    const harness: Harness = new Harness({ wait: () => blocked.promise })
    harness.give(calling(1))
    const call = callsOf(harness, 1)
    const first = outcomeOf(call('first'))
    const reason = new Error('not wanted')
    harness.loop.onCancel(1, reason, false)
    expect(await first).toMatchObject({ error: { code: 'ERR_PREFORK_CALL_ENDED', message: expect.stringContaining('was cancelled'), cause: reason } })
    expect(await outcomeOf(call('second'))).toMatchObject({ error: { code: 'ERR_PREFORK_CALL_ENDED', cause: reason } })
    blocked.resolve(1)
    await harness.turn()
    expect(await outcomeOf(call('third'))).toMatchObject({ error: { message: expect.stringContaining('has ended') } })
    expect(harness.of(Kind.CALL)).toHaveLength(1)
  })

  test('are at most 64 at once, also with arguments that call when they are read', async () => {
    const blocked = deferred()
    const harness: Harness = new Harness({ wait: () => blocked.promise })
    harness.give(calling(1))
    const call = callsOf(harness, 1)
    const all = Array.from({ length: 63 }, (_, index) => outcomeOf(call('name', index)))
    let inner: Promise<unknown> | undefined
    const argument = {
      get read() {
        inner ??= outcomeOf(call('inner'))
        return 1
      },
    }
    expect(await outcomeOf(call('outer', argument))).toMatchObject({ error: { code: 'ERR_PREFORK_TOO_MANY_CALLS' } })
    expect(harness.of(Kind.CALL)).toHaveLength(64)
    harness.give(reply(1, 64, 'inner'))
    expect(await inner).toEqual({ value: 'inner' })
    void outcomeOf(call('another'))
    expect(callOf(harness.of(Kind.CALL)[64]!)).toEqual([65, 'another', []])
    harness.give(...Array.from({ length: 63 }, (_, index) => reply(1, index + 1, index)))
    expect(await Promise.all(all)).toEqual(all.map((_, value) => ({ value })))
  })

  test('are refused in hooks and without the option', async () => {
    const outcomes: Promise<unknown>[] = []
    const callInHook = (): void => void outcomes.push(outcomeOf(callsOf(harness, harness.loop.running[0]!.delivery)('hook')))
    const harness: Harness = new Harness({ work: () => 1 }, { jobStart: [callInHook], jobEnd: [callInHook] })
    harness.give(calling(1))
    expect(await Promise.all(outcomes)).toMatchObject([{ error: { code: 'ERR_PREFORK_NO_JOB' } }, { error: { code: 'ERR_PREFORK_NO_JOB' } }])
    const plain: Harness = new Harness({ ask: () => outcomeOf(callsOf(plain, 1)('name')) })
    plain.give(jobFrame(1, 0))
    await plain.turn()
    expect(sentBy(plain.of(Kind.READY)[0]!)).toMatchObject({ error: { code: 'ERR_PREFORK_NO_CALLS' } })
    expect(plain.of(Kind.CALL)).toEqual([])
  })

  test('a REPLY that is too short ends the worker', () => {
    const harness = new Harness({ work: () => 1 })
    harness.give(frameOf(Kind.REPLY, 1, Buffer.alloc(4)))
    expect(harness.broken).toMatchObject([{ code: 'ERR_PREFORK_PROTOCOL' }])
  })
})
