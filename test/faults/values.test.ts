import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { SerializationError } from 'prefork'
import { describe, expect, it } from 'vitest'
import type { Pool } from '../../src/pool/pool.js'
import { pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { runs } from '../fixtures/runs.js'
import { failure, Journal, Latch } from '../fixtures/support.js'

const cyclic = (): unknown => {
  const value: Record<string, unknown> = { list: [1, 2] }
  value.self = value
  return value
}
const shared = { shared: true }
const ofAnyShape = Object.assign([1, 2], { extra: 'property' })

/** Node 20's toEqual finds no invalid date equal to another. */
const comparable = (value: unknown): unknown => (value instanceof Date && Number.isNaN(value.getTime()) ? 'an invalid date' : value)

const VALUES: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['-0', -0],
  ['NaN', Number.NaN],
  ['-Infinity', -Infinity],
  ['a large integer', 2 ** 53],
  ['a float', 0.1],
  ['a BigInt', 12345678901234567890123456789n],
  ['a negative BigInt', -(2n ** 64n)],
  ['a string', 'grüße 🎉'],
  ['a lone surrogate', 'a\ud800b'],
  ['a long string', 'x'.repeat(70_000)],
  ['a Date', new Date(1234567890123)],
  ['an invalid Date', new Date(Number.NaN)],
  ['a RegExp', /a+b/giu],
  [
    'a Map',
    new Map<unknown, unknown>([
      ['a', new Map([[1, new Set([2])]])],
      [{ key: 1 }, -0],
    ]),
  ],
  ['a Set', new Set([1, '1', undefined])],
  ['an array with holes', Object.assign(new Array(3), { 0: 1, 2: 3 })],
  ['an array with properties', ofAnyShape],
  ['undefined in an object', { a: undefined, b: { c: undefined } }],
  ['undefined in an array', [undefined, null]],
  ['boxed primitives', [Object(1), Object('s'), Object(true), Object(-0), Object(5n)]],
  ['a typed array', new Float64Array([1.5, -0, Number.NaN])],
  ['a BigInt64Array', new BigInt64Array([1n, -1n])],
  ['a DataView', new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)],
  ['an ArrayBuffer', new Uint8Array([1, 2, 3]).buffer],
  ['a view of part of a buffer', new Uint8Array(new Uint8Array([1, 2, 3, 4, 5]).buffer, 1, 3)],
  ['a cycle', cyclic()],
  ['the same object twice', [shared, shared]],
  ['a key that is no name', { 'a b': 1, 1: 2, '': 3 }],
  ['a __proto__ key', JSON.parse('{"__proto__": {"polluted": true}, "a": 1}')],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
  [
    'an instance of a class',
    new (class Point {
      x = 1
    })(),
  ],
  ['an object with toJSON', { toJSON: undefined, value: 1 }],
  ['a deep object', Array.from({ length: 400 }).reduce<unknown>((inner) => ({ inner }), 'deep')],
]

const values = sharedPool()

describe('promise 7: values', () => {
  const echo = (value: unknown): Promise<unknown> => values.pool.run('echo', [value])

  it.each(VALUES)('%s arrives as structuredClone would copy it', async (_, value) => {
    const expected: unknown = structuredClone(value)
    const arrived = await echo(value)
    expect(isDeepStrictEqual(comparable(arrived), comparable(expected)), `${String(arrived)}`).toBe(true)
    expect(Object.prototype).not.toHaveProperty('polluted')
  })

  it('keep identity and cycles inside one value', async () => {
    const [one, two] = (await echo([shared, shared])) as [object, object]
    expect(one).toBe(two)
    const cycle = (await echo(cyclic())) as { self: unknown }
    expect(cycle.self).toBe(cycle)
    const [a, b] = (await values.pool.run('echoAll', [shared, shared])) as [object, object]
    expect([a, b]).toEqual([shared, shared])
  })

  it('keep a Buffer a Buffer, of any size, alone and nested', async () => {
    for (const size of [0, 1, 100, 65_536, 3_000_000]) {
      const buffer = Buffer.alloc(size, 'prefork')
      const { list } = (await echo({ list: [buffer] })) as { list: Buffer[] }
      expect(Buffer.isBuffer(list[0])).toBe(true)
      expect(buffer.equals(list[0]!)).toBe(true)
      const alone = (await echo(buffer)) as Buffer
      expect(Buffer.isBuffer(alone) && buffer.equals(alone)).toBe(true)
    }
  })

  it.each([100, 4_000, 8_192, 12_000, 65_000, 65_536, 1_000_001])('align a Buffer of %i bytes for typed arrays', async (count) => {
    for (const id of [undefined, 'named']) {
      const bytes = await values.pool.submit('overlaid', [Buffer.alloc(count, 3)], id === undefined ? {} : { id: `${id}-${count}` }).result
      expect((bytes as Buffer).equals(Buffer.alloc(count, 3))).toBe(true)
      expect((bytes as Buffer).byteOffset % 8).toBe(0)
    }
  })

  it.each([5_000, 20_000, 65_536, 1_000_000])('give two Buffers of %i bytes memory of their own', async (count) => {
    expect(await values.pool.run('detachFirst', [Buffer.alloc(count), Buffer.alloc(count)])).toEqual([0, count])
    const [first, second] = (await values.pool.run('pair', [count])) as [Buffer, Buffer]
    await values.pool.run('echo', [first], { transfer: [first.buffer as ArrayBuffer] })
    expect(first.length).toBe(0)
    expect(second.equals(Buffer.alloc(count, 2))).toBe(true)
  })

  it('may be any number of arguments', async () => {
    expect(await values.pool.run('echoAll', [])).toEqual([])
    expect(await values.pool.run('echoAll', [undefined, null, 3])).toEqual([undefined, null, 3])
  })

  it('of any shape arrive as structuredClone would copy them', async () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withUnicodeString: true,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 4 }), async (args) => {
        const expected: unknown = structuredClone(args)
        const arrived = await values.pool.run('echoAll', args)
        return isDeepStrictEqual(arrived, expected)
      }),
      { numRuns: runs(150, 50) },
    )
  })

  it.each([
    ['a function', () => () => {}],
    ['a symbol', () => Symbol('s')],
    ['a promise', () => Promise.resolve()],
    ['a WeakMap', () => new WeakMap()],
    ['a SharedArrayBuffer', () => new SharedArrayBuffer(8)],
    ['a view of a SharedArrayBuffer', () => new Uint8Array(new SharedArrayBuffer(8))],
    ['a Blob', () => new Blob(['x'])],
    [
      'a getter that throws',
      () => ({
        get boom() {
          throw new Error('boom')
        },
      }),
    ],
  ])('%s among the arguments is refused for that job alone', async (_, make) => {
    const refused = values.pool.submit('echo', [{ nested: [make()] }])
    const fine = values.pool.run('echo', ['fine'])
    const error = await failure(refused.result)
    expect(error).toBeInstanceOf(SerializationError)
    expect(error).toMatchObject({ code: 'ERR_PREFORK_SERIALIZATION' })
    expect(await refused.began).toBe(false)
    expect(refused).toMatchObject({ state: 'failed', accepted: false })
    expect(await fine).toBe('fine')
  })

  it('do not include a MessagePort or a KeyObject', async () => {
    const { port1, port2 } = new MessageChannel()
    const { createSecretKey } = await import('node:crypto')
    for (const value of [port1, createSecretKey(Buffer.from('secret'))]) {
      expect(await failure(values.pool.run('echo', [value]))).toBeInstanceOf(SerializationError)
    }
    port1.close()
    port2.close()
  })

  it('that overflow the stack are the error of that job alone', async () => {
    const deep = Array.from({ length: 1_000_000 }).reduce<unknown>((inner) => [inner], 0)
    const pid = await pidOf(values.pool)
    expect(await failure(values.pool.run('echo', [deep]))).toBeInstanceOf(Error)
    expect(await pidOf(values.pool)).toBe(pid)
  })
})

describe('promise 7: arguments are copied at the call', () => {
  it('and later changes have no effect, running or queued', async () => {
    const { pool } = values
    const journal = new Journal()
    const latch = new Latch()
    const holder = pool.run('hold', [latch.path, journal.path, 1])
    const value = { list: [1, 2], buffer: Buffer.from('before') }
    const args = [value]
    const job = pool.run('echo', args)
    value.list.push(3)
    value.buffer.fill('x')
    args.length = 0
    latch.open()
    await holder
    expect(await job).toEqual({ list: [1, 2], buffer: Buffer.from('before') })
  })

  it('and so is a large binary', async () => {
    const { pool } = values
    const buffer = Buffer.alloc(4_000_000, 1)
    const job = pool.run('echo', [buffer])
    buffer.fill(2)
    expect(Buffer.alloc(4_000_000, 1).equals((await job) as Buffer)).toBe(true)
  })
})

describe('promise 7: transfer', () => {
  it('detaches what it lists, and only that', async () => {
    const { pool } = values
    const moved = new Uint8Array(1_000_000).fill(7)
    const copied = new Uint8Array(1_000).fill(8)
    const job = pool.run('echoAll', [moved, copied], { transfer: [moved.buffer] })
    expect(moved.byteLength).toBe(0)
    expect(copied.byteLength).toBe(1_000)
    const [first, second] = (await job) as [Uint8Array, Uint8Array]
    expect(first).toBeInstanceOf(Uint8Array)
    expect(Buffer.alloc(1_000_000, 7).equals(first)).toBe(true)
    expect(Buffer.alloc(1_000, 8).equals(second)).toBe(true)
  })
})

describe('promise 7: maxMessageSize', () => {
  it('is an error on the side that made the message, for that job alone', async () => {
    const pool = await startPool({ maxMessageSize: 100_000 })
    const pid = await pidOf(pool)
    const tooLarge = pool.submit('echo', [Buffer.alloc(200_000)])
    expect(await failure(tooLarge.result)).toBeInstanceOf(SerializationError)
    expect(await tooLarge.began).toBe(false)
    const result = pool.submit('bytes', [200_000])
    expect(await failure(result.result)).toBeInstanceOf(SerializationError)
    expect(await result.began).toBe(true)
    expect(await pool.run('bytes', [50_000])).toHaveLength(50_000)
    expect(await pidOf(pool)).toBe(pid)
  })

  it('bounds the value alone, not what the frame has beside it', async () => {
    const pool = await startPool({ maxMessageSize: 2_000, maxMemoryPerWorker: 2_000_000_000 })
    const nearly = 'x'.repeat(1_990)
    // The acceptance of the first is recorded, that of the second announced.
    expect(await pool.run('echo', [nearly])).toBe(nearly)
    expect(await pool.submit('echo', [nearly]).result).toBe(nearly)
  })

  it('names the job in the error when the task is addressed by a path', async () => {
    // As the runtime passes it; the package's declarations leave it out.
    const pool = (await startPool({ maxMessageSize: 100_000 })) as unknown as Pool
    const refusal = await new Promise((resolve) => {
      const follower = { began: () => {}, succeeded: () => {}, ended: (_: unknown, error: unknown) => resolve(error) }
      pool.submitFollowed('echo', [Buffer.alloc(200_000)], { calledAs: 'mail/send#welcome' }, follower)
    })
    expect(refusal).toMatchObject({ name: 'SerializationError', message: expect.stringContaining("The arguments of 'mail/send#welcome' take 200") })
  })
})
