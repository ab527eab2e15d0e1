import * as zlib from 'node:zlib'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UndecodableError } from '../../../src/runtime/errors.js'
import { type BodyHeaders, decodeJob, encodeJob } from '../../../src/runtime/message/job.js'
import { SerializationError } from '../../../src/wire/errors.js'

const msgpack = { contentType: 'application/msgpack', contentEncoding: undefined, schemaVersion: 1 }
const limit = { maxBodySize: 1_000_000 }
const decode = async (body: Buffer | string, headers: Partial<BodyHeaders> = {}) => decodeJob(Buffer.from(body as string), { ...msgpack, ...headers }, limit)
const refusal = async (body: Buffer | string, headers = {}): Promise<string> => {
  const error: unknown = await decode(body, headers).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UndecodableError)
  expect(error).toMatchObject({ name: 'UndecodableError', code: 'ERR_PREFORK_UNDECODABLE' })
  return (error as Error).message
}

test('the bytes are those that any MessagePack library writes', () => {
  const { body, contentType, contentEncoding, schemaVersion } = encodeJob({ task: 'add', args: [1, -1, 300, 1.5, 'é', Buffer.of(1, 2), new Date(1_000), null] })
  expect(body.toString('hex')).toBe(
    // { "task": "add", "args": [1, -1, 300, 1.5, "é", bin(01 02), timestamp32(1), nil] }
    '82a47461736ba3616464a461726773' + '9801ffcd012ccb3ff8000000000000a2c3a9c4020102d6ff00000001c0',
  )
  expect({ contentType, contentEncoding, schemaVersion }).toEqual({ contentType: 'application/msgpack', contentEncoding: undefined, schemaVersion: 1 })
})

test('what other languages write is read: wide integers, floats of 32 bits, numbers as keys', async () => {
  const hex = `82a47461736ba161a46172677394${'d30000000000000005'}${'cf0020000000000000'}${'ca3fc00000'}${'8107c0'}`
  expect(await decode(Buffer.from(hex, 'hex'))).toEqual({ task: 'a', args: [5, 2n ** 53n, 1.5, { 7: null }] })
})

test('a JSON body of the same shape is understood, also without a content type', async () => {
  const job = { task: 'add', args: [1, { a: [null] }], kwargs: { b: 2 }, context: 'c' }
  expect(await decode(JSON.stringify(job), { contentType: 'application/json' })).toEqual(job)
  expect(await decode(JSON.stringify(job), { contentType: 'application/json; charset=UTF-8', contentEncoding: 'utf-8' })).toEqual(job)
  expect(await decode(` ${JSON.stringify(job)}`, { contentType: undefined })).toEqual(job)
  expect(await decode(encodeJob(job).body, { contentType: undefined, contentEncoding: 'binary' })).toEqual(job)
})

test('args may be left out, kwargs may be null', async () => {
  expect(await decode('{"task":"a"}', { contentType: 'application/json' })).toEqual({ task: 'a', args: [] })
  expect(await decode('{"task":"a","kwargs":null}', { contentType: 'application/json' })).toEqual({ task: 'a', args: [] })
})

test('undefined: left out of objects and off the end of the arguments, refused elsewhere', async () => {
  const { body } = encodeJob({ task: 'a', args: [{ b: undefined, c: 1 }, undefined, undefined] })
  expect(await decode(body)).toEqual({ task: 'a', args: [{ c: 1 }] })
  expect(() => encodeJob({ task: 'a', args: [undefined, 1] })).toThrow('args[0] is undefined, for which MessagePack has no word')
})

test('each unreadable message says what is wrong', async () => {
  expect(await refusal('{"task":1}', { contentType: 'application/json' })).toContain("no 'task'")
  expect(await refusal('{"args":[]}', { contentType: 'application/json' })).toContain("no 'task'")
  expect(await refusal('{"task":"a","args":{}}', { contentType: 'application/json' })).toContain("'args' that are not an array")
  expect(await refusal('{"task":"a","kwargs":[]}', { contentType: 'application/json' })).toContain("'kwargs' that are not a map")
  expect(await refusal('[1]', { contentType: 'application/json' })).toContain('is not a map')
  expect(await refusal('{"task":', { contentType: 'application/json' })).toContain('not JSON')
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
    const body = Buffer.concat([Buffer.from('{"task":"a","args":["'), Buffer.from(bytes), Buffer.from('"]}')])
    expect(await refusal(body, { contentType: 'application/json' })).toContain('not UTF-8')
  }
  expect(await decode('{"task":"a","args":["\ufffd"]}', { contentType: 'application/json' })).toMatchObject({ args: ['\ufffd'] })
  expect(await refusal('x', { contentType: 'text/plain' })).toContain("'text/plain' is not known")
  expect(await refusal('{}', { contentType: 'application/json; charset=latin1' })).toContain('latin1')
  expect(await refusal('x', { contentEncoding: 'lzma' })).toContain("'lzma' is not known")
  expect(await refusal('x', { contentEncoding: 'gzip' })).toContain('is not gzip')
  expect(await refusal('x', { schemaVersion: 2 })).toContain('schema version 2')
  expect(await refusal('x', { schemaVersion: Number.NaN })).toContain('a schema version that is no number; this node reads version 1')
  expect(await refusal('')).toContain('ends too early')
  expect(await refusal(Buffer.from([0xc1]))).toContain('0xc1')
  expect(await refusal(Buffer.from([0x80, 0x80]))).toContain('1 bytes behind its end')
  expect(await refusal(Buffer.from([0xa2, 0xff, 0xfe]))).toContain('not UTF-8')
  expect(await refusal(Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]))).toContain('4294967295 elements')
  expect(await refusal(Buffer.from([0xd4, 5, 0]))).toContain('extension of type 5')
  expect(await refusal(Buffer.alloc(2_000_000))).toContain('maxBodySize')
})

test('nesting is bounded on both sides', async () => {
  expect(await refusal(Buffer.alloc(100_000, 0x91))).toContain('nested more than 256 deep')
  expect(await refusal('['.repeat(100_000), { contentType: 'application/json' })).toContain('nested more than 256 deep')
  expect(await decode(JSON.stringify({ task: 'a', args: ['[\\"['.repeat(500)] }), { contentType: 'application/json' })).toMatchObject({ task: 'a' })
  let deep: unknown = 1
  for (let i = 0; i < 300; i++) deep = [deep]
  expect(() => encodeJob({ task: 'a', args: [deep] })).toThrow(/^args\[0\]\[0\].* nested more than 256 deep/)
})

test('a small body that grows beyond the limit is refused while it is decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(200_000_000))
  expect(bomb.length).toBeLessThan(limit.maxBodySize)
  const before = process.memoryUsage().arrayBuffers
  expect(await refusal(bomb, { contentEncoding: 'gzip' })).toContain('maxBodySize')
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000)
})

test.skipIf('zstdCompress' in zlib)('where Node has no zstd, both ways say so', async () => {
  expect(await refusal('x', { contentEncoding: 'zstd' })).toContain('Node 22.15')
  await expect(Promise.resolve(encodeJob({ task: 'a', args: [] }, { compress: 'zstd' }))).rejects.toThrow("Use 'gzip' or 'br'")
})

test.runIf('zstdCompress' in zlib)('zstd goes there and back', async () => {
  const { body, ...headers } = await encodeJob({ task: 'a', args: ['x'.repeat(10_000)] }, { compress: 'zstd' })
  expect(await decodeJob(body, headers, limit)).toEqual({ task: 'a', args: ['x'.repeat(10_000)] })
})

test('a __proto__ key is data', async () => {
  const body = Buffer.from('{"task":"a","args":[{"__proto__":{"polluted":1}}],"__proto__":{"args":[9]}}')
  const fromJson = await decode(body, { contentType: 'application/json' })
  const again = await decode(encodeJob(fromJson).body)
  for (const { args } of [fromJson, again]) {
    const [object] = args as [object]
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(object, '__proto__')?.value).toEqual({ polluted: 1 })
  }
})

test('what MessagePack cannot carry exactly is refused at its path', () => {
  const circle: unknown[] = []
  circle.push({ circle })
  const refused: [unknown, string][] = [
    [{ f: () => {} }, 'args[0].f is a function'],
    [Symbol('s'), 'args[0] is a symbol'],
    [new Map(), 'args[0] is a Map'],
    [new Set(), 'args[0] is a Set'],
    [new (class Point {})(), 'args[0] is a Point'],
    [new URL('http://a'), 'args[0] is an URL'],
    [new Error('x'), 'args[0] is an Error'],
    [new Float64Array(1), 'args[0] is a Float64Array'],
    [Promise.resolve(), 'args[0] is a Promise'],
    [Object('boxed'), 'args[0] is a String'],
    [new Date(Number.NaN), 'args[0] is an invalid Date'],
    ['\ud800', 'args[0] holds half of a surrogate pair'],
    [5n, 'args[0] is 5n and would arrive as the number 5'],
    [2n ** 64n, 'args[0] is 18446744073709551616n, which 64 bits cannot hold'],
    [circle, 'args[0][0].circle holds itself'],
    [{ 'a b': [[undefined, 1]] }, 'args[0]["a b"][0][0] is undefined'],
  ]
  for (const [value, text] of refused) {
    expect(() => encodeJob({ task: 'a', args: [value] })).toThrow(SerializationError)
    expect(() => encodeJob({ task: 'a', args: [value] })).toThrow(text)
  }
})
