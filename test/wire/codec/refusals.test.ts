import { createSecretKey, webcrypto, X509Certificate } from 'node:crypto'
import { open } from 'node:fs/promises'
import { BlockList, SocketAddress } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode } from '../../../src/wire/codec/index.js'
import { SerializationError } from '../../../src/wire/errors.js'
import { runs } from '../../fixtures/runs.js'
import { refusal, sent, wire } from './help.js'

// The types of Node leave it to those of browsers.
const { WebAssembly } = globalThis as unknown as { WebAssembly: { Memory: new (size: { initial: number }) => { buffer: ArrayBuffer } } }

describe('names the place of what cannot be sent', () => {
  const table: [value: unknown, message: string][] = [
    [[{ callback: () => 1 }], 'args[0].callback is a function'],
    [[class A {}], 'args[0] is a class'],
    [[{ a: { 'odd key': [Symbol('s')] } }], 'args[0].a["odd key"][0] is a symbol'],
    [[Promise.resolve()], 'args[0] is a Promise, which cannot be copied'],
    [[new WeakMap()], 'args[0] is a WeakMap, which cannot be copied'],
    [[new WeakSet()], 'args[0] is a WeakSet, which cannot be copied'],
    [[new WeakRef({})], 'args[0] is a WeakRef, which cannot be copied'],
    [[new Proxy({}, {})], 'args[0] is a Proxy'],
    [[new Proxy([], {})], 'args[0] is a Proxy'],
    [new Proxy([], {}), 'args is a Proxy'],
    [[Object(Symbol('s'))], 'args[0] is a Symbol'],
    [[new Map([['k', { f: () => 1 }]])], 'args[0].get("k").f is a function'],
    [[new Map([[() => 1, 1]])], 'args[0]<a key> is a function'],
    [[new Set([1, () => 1])], 'args[0]<item 1> is a function'],
    [Object.assign([1], { extra: () => 1 }), 'args.extra is a function'],
    [[new Error('x', { cause: { f: () => 1 } })], 'args[0].cause.f is a function'],
    [[new SharedArrayBuffer(8)], 'args[0] is a SharedArrayBuffer, which lives in one process only'],
    [[new Uint8Array(new SharedArrayBuffer(8))], 'args[0] is an Uint8Array, on memory shared between threads of one process'],
    [[new Blob(['a'])], 'args[0] is a Blob, which lives in one process only'],
    [[createSecretKey(Buffer.from('ab'))], 'args[0] is a SecretKeyObject, which lives in one process only'],
    [[new BlockList()], 'args[0] is a BlockList, which lives in one process only'],
    [[new SocketAddress({ address: '127.0.0.1' })], 'args[0] is a SocketAddress, which lives in one process only'],
    [[createHistogram()], 'args[0] is a RecordableHistogram, which lives in one process only'],
    [[new MessageChannel().port1], 'args[0] is a MessagePort, which cannot be copied'],
    [[new ReadableStream()], 'args[0] is a ReadableStream, which cannot be copied'],
    [[new WritableStream()], 'args[0] is a WritableStream, which cannot be copied'],
    [[(() => [][Symbol.iterator]())()], 'args[0] is an Array Iterator, which cannot be copied'],
    [[new Intl.NumberFormat()], 'args[0] is a NumberFormat, which cannot be copied'],
    [[new WebAssembly.Memory({ initial: 1 })], 'args[0] is a Memory, which cannot be copied'],
  ]
  for (const [value, message] of table) {
    test(message, () => {
      const error = refusal(value, { root: 'args' })
      expect(error).toBeInstanceOf(SerializationError)
      expect(error.message).toBe(message)
      expect(error.cause).toBeInstanceOf(Error)
    })
  }

  test('arguments, generators, handles', async () => {
    const file = await open(import.meta.filename)
    const key = await webcrypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
    const values = [
      (function (..._: unknown[]) {
        // biome-ignore lint/complexity/noArguments: it is what is tested
        return arguments
      })(1),
      (function* () {})(),
      (async function* () {})(),
      file,
      key,
    ]
    for (const value of values) expect(refusal({ value })).toBeInstanceOf(SerializationError)
    await file.close()
    expect(X509Certificate).toBeDefined()
  })

  test('a getter that throws', () => {
    const cause = new Error('no')
    const value = {
      ok: 1,
      get bad(): number {
        throw cause
      },
    }
    const error = refusal([value], { root: 'args' })
    expect(error.message).toBe('args[0].bad cannot be read')
    expect(error.cause).toBe(cause)
  })

  test('a detached buffer', () => {
    const buffer = new ArrayBuffer(8)
    const view = new Uint8Array(buffer)
    structuredClone(buffer, { transfer: [buffer] })
    expect(refusal([buffer]).message).toBe('value[0] is an ArrayBuffer, which is detached')
    expect(refusal([view]).message).toContain('detached')
  })
})

describe('nesting', () => {
  const nested = (depth: number): unknown => {
    let value: unknown = []
    for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { value }
    return value
  }
  test('a thousand levels', () => expect(JSON.stringify(sent(nested(1000)))).toBe(JSON.stringify(nested(1000))))
  test('a million levels are an error of their own job, and the next value is sent', () => {
    expect(refusal(nested(1_000_000), { root: 'args' }).message).toBe('args is nested too deeply')
    expect(sent([{ a: 1 }])).toEqual([{ a: 1 }])
  })
})

test('a getter may itself encode', () => {
  const value = {
    get a(): unknown {
      return sent({ b: [1, { c: 2 }] })
    },
    d: 1,
  }
  expect(sent([value, value])).toEqual([
    { a: { b: [1, { c: 2 }] }, d: 1 },
    { a: { b: [1, { c: 2 }] }, d: 1 },
  ])
})

describe('transfer', () => {
  test('moves the listed buffers and copies the rest', () => {
    const [moved, kept] = [new Uint8Array(20_000).fill(1), new Uint8Array(20_000).fill(2)]
    const copy = sent([moved, kept], { copyBinaries: true, transfer: [moved.buffer] })
    expect([moved.byteLength, kept.byteLength]).toEqual([0, 20_000])
    expect([copy[0]![19_999], copy[1]![0]]).toEqual([1, 2])
  })

  test('also small buffers, and those that the value does not hold', () => {
    const [small, absent] = [new Uint8Array([1, 2, 3]), new ArrayBuffer(8)]
    expect(sent([small], { transfer: [small.buffer, absent] })[0]).toEqual(new Uint8Array([1, 2, 3]))
    expect([small.byteLength, absent.byteLength]).toEqual([0, 0])
    const other = new ArrayBuffer(8)
    encode([], 0, { transfer: [other] })
    encode([{ a: 1 }], 0, { transfer: [absent.byteLength === 0 ? new ArrayBuffer(1) : other] })
    expect(other.byteLength).toBe(0)
  })

  test('a Buffer with its own memory', () => {
    const buffer = Buffer.alloc(30_000, 5)
    const [copy] = sent([buffer], { copyBinaries: true, transfer: [buffer.buffer as ArrayBuffer] })
    expect(buffer.length).toBe(0)
    expect(copy!.equals(Buffer.alloc(30_000, 5))).toBe(true)
  })

  test('nothing is detached when the value is refused', () => {
    const buffer = new ArrayBuffer(20_000)
    expect(() => encode([buffer, () => 1], 0, { transfer: [buffer] })).toThrow(SerializationError)
    expect(buffer.byteLength).toBe(20_000)
  })

  test('the memory of WebAssembly stays where it is: copied on Node 20, refused later', () => {
    const { buffer } = new WebAssembly.Memory({ initial: 1 })
    new Uint8Array(buffer)[0] = 7
    const send = () => sent([new Uint8Array(buffer)], { copyBinaries: true, transfer: [buffer] })
    if (process.versions.node.startsWith('20.')) expect(send()[0]![0]).toBe(7)
    else expect(send).toThrow(SerializationError)
    expect(new Uint8Array(buffer)[0]).toBe(7)
  })

  test('refuses what is no ArrayBuffer, what is listed twice, and the pool', () => {
    const buffer = new ArrayBuffer(8)
    const attempt = (transfer: unknown[]) => () => encode([1], 0, { transfer: transfer as ArrayBuffer[] })
    expect(attempt([buffer, new Uint8Array(8)])).toThrow(new TypeError('transfer[1] must be an ArrayBuffer, but is an Uint8Array: name its .buffer'))
    expect(attempt([1])).toThrow(TypeError)
    expect(attempt([buffer, buffer])).toThrow(SerializationError)
    expect(attempt([buffer, Buffer.from('small').buffer])).toThrow(SerializationError)
    expect(buffer.byteLength).toBe(8)
    expect(Buffer.from('small').toString()).toBe('small')
  })
})

describe('bytes that are no value', () => {
  const attempt = (bytes: Buffer): void => {
    try {
      decode(bytes, 0)
    } catch (error) {
      expect(error).toBeInstanceOf(SerializationError)
    }
  }
  test('arbitrary ones', () => {
    fc.assert(
      fc.property(fc.constantFrom(0, 4, 8, 9, 16, 17, 18, 19, 32, 36, 255), fc.uint8Array({ maxLength: 60 }), (format, bytes) =>
        attempt(Buffer.concat([Buffer.from([format]), bytes])),
      ),
      { numRuns: runs(5_000, 2_000) },
    )
    attempt(Buffer.alloc(0))
  })

  test('damaged ones', () => {
    const shared = { constructor: 1 }
    const values = [
      { a: [1, 'x', { b: 2 }] },
      [Buffer.alloc(20), new Float64Array(4)],
      new Map([[1, -0]]),
      new RangeError('x', { cause: [new Date()] }),
      ['x'.repeat(100), 1n],
      [Buffer.alloc(9000)],
      Array.from({ length: 9 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'Ω'], at: new Date(id), big: 2n ** 70n, score: id / 3 })),
      [shared, shared, new Set([shared])],
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...values),
        fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        fc.nat(5),
        (value, damage, cut) => {
          const bytes = Buffer.from(wire(value).subarray(20))
          for (const [where, byte] of damage) bytes[Math.floor(where * Math.min(bytes.length, 120))] = byte
          attempt(bytes.subarray(0, bytes.length - cut))
        },
      ),
      { numRuns: runs(5_000, 2_000) },
    )
  })

  test('enormous lengths allocate nothing', () => {
    const before = process.memoryUsage().rss
    for (const bytes of [
      '20e7ffffffff',
      '20e8ffffffff',
      '20e9ffffffff',
      '20eaffffff',
      '20ecffffffff',
      '20efffffffff',
      '20f0ffffffff',
      '08dd7fffffff',
      '08df7fffffff',
      '08c67fffffff',
      '08db7fffffff',
      '10ff0f41ffffffff0f',
      '09ffffffffffffffff',
      `09${'00000000'}${'ffffff0f'}`,
    ])
      attempt(Buffer.from(bytes, 'hex'))
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000)
  })

  test('no prototype is touched', () => {
    attempt(Buffer.from('0881a95f5f70726f746f5f5f81a461626364c3', 'hex'))
    attempt(Buffer.from('20ea0a0001895f5f70726f746f5f5fea0500018461626364e3', 'hex'))
    attempt(Buffer.from('20ec01000000895f5f70726f746f5f5fec010000008461626364e3', 'hex'))
    expect(({} as { abcd?: unknown }).abcd).toBeUndefined()
  })
})
