import { describe, expect, test } from 'vitest'
import { encode } from '../../../src/wire/codec/index.js'
import { SerializationError, TaskNotFoundError } from '../../../src/wire/errors.js'
import { FLAG_ERROR, FLAG_STATS, FLAG_UNSENDABLE, Kind } from '../../../src/wire/messages.js'
import { errorOf, Harness, jobFrame, sentBy } from '../loop-harness.js'

describe('a result', () => {
  const run = async (task: (...args: unknown[]) => unknown, config = {}) => {
    const harness = new Harness({ task }, {}, config)
    harness.give(jobFrame(1, 0), jobFrame(2, 0))
    await harness.turn()
    await harness.turn()
    const ready = harness.of(Kind.READY)
    expect(ready).toHaveLength(2)
    return ready[1]!
  }

  test('that is thrown, or rejected', async () => {
    for (const task of [
      () => {
        throw new RangeError('no')
      },
      async () => {
        throw new RangeError('no')
      },
    ]) {
      const ready = await run(task)
      expect(ready.flags).toBe(FLAG_ERROR)
      expect(errorOf(ready)).toMatchObject({ name: 'RangeError', message: 'no' })
    }
  })

  test('that cannot be sent, or is too large, fails its own job only', async () => {
    const large = 'x'.repeat(2000)
    for (const value of [() => {}, Promise.resolve(Symbol('s')), large, new WeakMap()]) {
      const ready = await run(() => value, { maxMessageSize: 1000 })
      expect(ready.flags).toBe(FLAG_ERROR | FLAG_UNSENDABLE)
      expect(errorOf(ready)).toMatchObject({ code: 'ERR_PREFORK_SERIALIZATION', message: expect.stringContaining("'task'") })
    }
    const ready = await run(
      () => {
        throw new Error(large)
      },
      { maxMessageSize: 1000 },
    )
    // The task threw: it returned no value that could not be sent.
    expect(ready.flags).toBe(FLAG_ERROR)
    expect(errorOf(ready)).toBeInstanceOf(SerializationError)
  })

  test('that is another kind of thenable, or throws when its `then` is read', async () => {
    // biome-ignore lint/suspicious/noThenProperty: this is what is tested.
    expect(sentBy(await run(() => ({ then: (resolve: (value: unknown) => void) => resolve('answered') })))).toBe('answered')
    const trap = {
      // biome-ignore lint/suspicious/noThenProperty: this is what is tested.
      get then() {
        throw new Error('do not look')
      },
    }
    expect(errorOf(await run(() => trap))).toMatchObject({ message: 'do not look' })
  })

  test('of a generator that was called with run() is an error that names pool.stream()', async () => {
    for (const task of [function* () {}, async function* () {}]) {
      expect(errorOf(await run(task))).toMatchObject({ message: expect.stringContaining('pool.stream') })
    }
  })

  test('of an unknown task is an error with the names of the known tasks', () => {
    const harness = new Harness({ one: () => 1, two: () => 2 })
    harness.give(jobFrame(1, 7))
    const error = errorOf(harness.frames.at(-1)!) as TaskNotFoundError
    expect(error).toBeInstanceOf(TaskNotFoundError)
    expect(error.known).toEqual(['one', 'two'])
  })

  test('has large binaries behind its body', async () => {
    const ready = await run(() => ({ a: Buffer.alloc(100_000, 7), b: new Float64Array(20_000).fill(0.5) }))
    const value = sentBy(ready) as { a: Buffer; b: Float64Array }
    expect(value.a.equals(Buffer.alloc(100_000, 7))).toBe(true)
    expect(value.b).toEqual(new Float64Array(20_000).fill(0.5))
  })

  test('has the statistics', async () => {
    for (const [value, flags] of [
      ['fine', FLAG_STATS],
      [() => {}, FLAG_STATS | FLAG_ERROR | FLAG_UNSENDABLE],
    ] as const) {
      const ready = await run(() => value, { measureMemory: true })
      expect(ready.flags).toBe(flags)
      expect(ready.payload.readUInt32LE(0)).toBe(2)
      expect(ready.payload.readDoubleLE(4)).toBe(4096)
    }
  })
})

test('arguments nested too deep fail their job', () => {
  const harness = new Harness({ echo: (value) => typeof value })
  const broken = encode([[1]], 0).body
  harness.give(jobFrame(1, 0, { raw: broken.subarray(0, broken.length - 1) }), jobFrame(2, 0, { raw: encode('no array', 0).body }), jobFrame(3, 0))
  const ready = harness.of(Kind.READY)
  expect(ready.map(({ flags }) => flags)).toEqual([FLAG_ERROR, FLAG_ERROR, 0])
  expect(errorOf(ready[0]!)).toBeInstanceOf(SerializationError)
})
