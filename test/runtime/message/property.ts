import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UndecodableError } from '../../../src/runtime/errors.js'
import { type BodyHeaders, decodeJob, encodeJob } from '../../../src/runtime/message/job.js'
import { decodeReply, encodeReply } from '../../../src/runtime/message/reply.js'
import { carried } from './arbitraries.js'

const limit = { maxBodySize: 64 * 1024 * 1024 }

const headers = fc.record({
  contentType: fc.constantFrom(undefined, 'application/msgpack', 'application/json', 'text/plain'),
  contentEncoding: fc.constantFrom(undefined, 'gzip', 'br', 'zstd', 'identity', 'lzma'),
  schemaVersion: fc.constantFrom(1, 1, 1, 2),
})

const never = async (body: Buffer, said: BodyHeaders): Promise<void> => {
  try {
    const message = await decodeJob(body, said, limit)
    expect(typeof message.task).toBe('string')
    expect(Array.isArray(message.args)).toBe(true)
  } catch (error) {
    expect(error).toBeInstanceOf(UndecodableError)
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
}

/** Properties of bodies. `share`: of the runs of `npm run test:long`. */
export const checkBodies = (share: number): void => {
  test('what is encoded is what is decoded', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1 }),
        fc.array(carried, { maxLength: 4 }),
        fc.option(fc.dictionary(fc.string(), carried, { noNullPrototype: true }), { nil: undefined }),
        carried,
        fc.constantFrom(undefined, 'gzip' as const, 'br' as const),
        async (task, args, kwargs, context, compress) => {
          const message = { task, args, ...(kwargs === undefined ? {} : { kwargs }), context }
          const { body, ...headers } = await encodeJob(message, { compress })
          // Strict: also -0, prototypes and classes.
          deepStrictEqual(await decodeJob(body, headers, limit), message)
        },
      ),
      { numRuns: 120 * share },
    )
  })

  test('answers arrive as they left', () => {
    fc.assert(
      fc.property(carried, (value) => deepStrictEqual(decodeReply(encodeReply({ ok: true, value })), { ok: true, value })),
      { numRuns: 100 * share },
    )
  })

  test('arbitrary bytes are read or refused, nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), headers, async (bytes, said) => never(Buffer.from(bytes), said)),
      { numRuns: 1_500 * share },
    )
  })

  test('a valid body with some bytes changed, or cut, is read or refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(carried, { maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        fc.option(fc.nat(), { nil: undefined }),
        async (args, changes, cut) => {
          const { body, ...said } = encodeJob({ task: 'x', args })
          for (const [at, byte] of changes) body[at % body.length] = byte
          await never(cut === undefined ? body : body.subarray(0, cut % body.length), said)
        },
      ),
      { numRuns: 1_000 * share },
    )
  })
}
