import fc from 'fast-check'

const define = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 90 }),
  fc.constantFrom('\ufeff', '\ufffd', '__proto__', 'constructor', 'toJSON', 'length', '', '0', '-0'),
  fc.constantFrom(15, 16, 31, 32, 33, 255, 256, 65_535, 65_536).map((n) => 'x'.repeat(n)),
  fc.integer({ min: 0, max: 300 }).map((n) => 'é'.repeat(n)),
)

const edges = [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, Number.MAX_SAFE_INTEGER]
const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(...edges, ...edges.map((n) => -n), -32, -33, -129, -0x8001, -0x8000_0001, 2 ** 53, 2 ** 64, 5e-324),
)
const bigInt = fc
  .oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), fc.constantFrom(2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n), 2n ** 53n))
  .filter((n) => !Number.isSafeInteger(Number(n)))
const date = fc.oneof(
  fc.date({ noInvalidDate: true }),
  fc.constantFrom(0, -1, 999, 1_000, 0xffff_ffff * 1_000, 0x1_0000_0000 * 1_000, 2 ** 34 * 1_000, 8.64e15, -8.64e15).map((n) => new Date(n)),
)
const binary = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(255, 256, 65_535, 65_536).map((n) => Buffer.alloc(n, 7)),
)

/** Whatever a message carries exactly. */
export const carried = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(text, number, bigInt, date, binary, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 18 }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 18 }).map((entries) => {
      const object = {}
      for (const [key, value] of entries) define(object, key, value)
      return object
    }),
  ),
})).value
