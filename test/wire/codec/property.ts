import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sent } from './help.js'
import { difference } from './same.js'

/** Objects are drawn from here too, so that references are shared and circular. */
type Build = (pool: object[]) => unknown

class Instance {
  own: unknown
  #hidden = 1
  constructor(own: unknown) {
    this.own = own
  }
  get derived(): number {
    return this.#hidden
  }
}
class SubMap extends Map {}
class SubArray extends Array {}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 90 }),
  // Half of a surrogate pair, byte order marks, and the lengths where encodings change.
  fc.constantFrom('\ud800', 'a\udc00b', '\ufeff', `\ufeff${'x'.repeat(70)}`, '__proto__', 'constructor', 'toJSON', 'length', '', '0', '-0', '4294967295'),
  fc.integer({ min: 0, max: 300 }).map((n) => 'é'.repeat(n)),
  fc.constantFrom(15, 16, 31, 32, 63, 64, 65, 255, 256, 65_535, 65_536).map((n) => 'x'.repeat(n)),
)
const primitive = fc.oneof(
  fc.constantFrom(undefined, null, true, false, -0, 0, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 31) - 1, 5e-324),
  fc.double(),
  fc.integer(),
  text,
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
  fc.constantFrom(2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, -(2n ** 63n), -(2n ** 63n) - 1n, 0n),
)
const define = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}
const views = [Uint8Array, Int16Array, Float64Array, BigInt64Array, Uint8ClampedArray, DataView] as const

const { value: graph } = fc.letrec<{ value: Build; leaf: Build; node: Build }>((tie) => {
  const many = fc.array(tie('value'), { maxLength: 6 })
  const keep = <T extends object>(pool: object[], object: T): T => {
    pool.push(object)
    return object
  }
  return {
    value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, tie('leaf'), tie('node')),
    leaf: fc.oneof(
      primitive.map(
        (p): Build =>
          () =>
            p,
      ),
      fc.nat().map(
        (n): Build =>
          (pool) =>
            pool.length === 0 ? n : pool[n % pool.length],
      ),
      primitive.map(
        (p): Build =>
          (pool) =>
            p === undefined || p === null ? p : keep(pool, Object(p) as object),
      ),
      fc.date({ noInvalidDate: false }).map(
        (d): Build =>
          (pool) =>
            keep(pool, Object.assign(new Date(d), { extra: 1 })),
      ),
      fc.constantFrom('', 'g', 'giu', 'y').map(
        (f): Build =>
          (pool) =>
            keep(pool, Object.assign(/a(.)b/, new RegExp('x[/]', f), { lastIndex: 3 })),
      ),
      fc.tuple(fc.constantFrom(...views), fc.nat(3), fc.nat(3), fc.boolean()).map(
        ([View, offset, length, large]): Build =>
          (pool) => {
            const buffer =
              (pool.find((o) => o instanceof ArrayBuffer && o.byteLength >= 64) as ArrayBuffer | undefined) ?? keep(pool, new ArrayBuffer(large ? 9000 : 64))
            new Uint8Array(buffer)[offset] = 7
            return keep(pool, new (View as typeof DataView)(buffer, offset * 8, length))
          },
      ),
      fc.nat(20).map(
        (n): Build =>
          (pool) =>
            keep(pool, new ArrayBuffer(n)),
      ),
      fc.constantFrom(Error, TypeError, RangeError).chain((E) =>
        fc.string().map(
          (m): Build =>
            (pool) =>
              keep(pool, new E(m)),
        ),
      ),
    ),
    node: fc.oneof(
      many.map(
        (items): Build =>
          (pool) => {
            const array: unknown[] = keep(pool, [])
            for (const item of items) array.push(item(pool))
            return array
          },
      ),
      // Holes, a length beyond the last element, properties.
      fc.tuple(fc.array(fc.tuple(fc.nat(12), tie('value')), { maxLength: 4 }), fc.nat(20), fc.option(fc.tuple(text, tie('value')))).map(
        ([items, length, extra]): Build =>
          (pool) => {
            const array: unknown[] = keep(pool, length % 2 === 0 ? [] : new SubArray())
            array.length = length
            for (const [i, item] of items) array[i] = item(pool)
            if (extra !== null && extra[0] !== 'length') define(array, extra[0] === '4294967295' ? 'x' : extra[0], extra[1](pool))
            return array
          },
      ),
      fc.array(fc.tuple(text, tie('value')), { maxLength: 6 }).chain((entries) =>
        fc.constantFrom(Object.prototype, null, Instance.prototype).map(
          (prototype): Build =>
            (pool) => {
              const object = keep(pool, Object.create(prototype) as object)
              for (const [key, item] of entries) define(object, key, item(pool))
              Object.defineProperty(object, 'invisible', { value: 1, enumerable: false })
              Object.defineProperty(object, Symbol('unseen'), { value: 1, enumerable: true })
              return object
            },
        ),
      ),
      fc.tuple(text, tie('value')).map(
        ([key, item]): Build =>
          (pool) => {
            const object = keep(pool, {})
            const inner = item(pool)
            Object.defineProperty(object, key, { get: () => inner, enumerable: true, configurable: true })
            return object
          },
      ),
      tie('value').map(
        (item): Build =>
          (pool) =>
            keep(pool, new Instance(item(pool))),
      ),
      fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 4 }).map(
        (entries): Build =>
          (pool) => {
            const map = keep(pool, entries.length % 2 === 0 ? new Map<unknown, unknown>() : new SubMap())
            for (const [key, item] of entries) map.set(key(pool), item(pool))
            return map
          },
      ),
      many.map(
        (items): Build =>
          (pool) => {
            const set = keep(pool, new Set())
            for (const item of items) set.add(item(pool))
            return set
          },
      ),
      // Closes a circle.
      fc.tuple(text, fc.nat()).map(
        ([key, n]): Build =>
          (pool) => {
            const object = keep(pool, {})
            define(object, key, pool[n % pool.length])
            return object
          },
      ),
    ),
  }
})

/** Compares what arrives with `structuredClone`. `share`: of the runs of `npm run test:long`. */
export const compareWithStructuredClone = (share: number): void => {
  test('what structuredClone copies arrives as structuredClone copies it', () => {
    fc.assert(
      fc.property(graph, (build) => {
        const value = build([])
        expect(difference(sent(value), structuredClone(value))).toBeUndefined()
      }),
      { numRuns: 4_000 * share },
    )
  })

  test('plain data arrives the same', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 4, withDate: true, withBigInt: true, key: text, values: [primitive] }), (value) => {
        expect(difference(sent(value), structuredClone(value))).toBeUndefined()
      }),
      { numRuns: 2_000 * share },
    )
  })

  test('long arrays', () => {
    fc.assert(
      fc.property(fc.integer({ min: 250, max: 400 }), fc.constantFrom('dense', 'hole', 'undefined', 'property', 'tail'), (length, kind) => {
        const array: unknown[] = Array.from({ length }, (_, i) => i)
        if (kind === 'hole') delete array[200]
        if (kind === 'undefined') array[200] = undefined
        if (kind === 'property') Object.assign(array, { index: 1 })
        if (kind === 'tail') array.length += 3
        expect(difference(sent(array), structuredClone(array))).toBeUndefined()
      }),
    )
  })

  test('many objects of one shape, among others of many shapes', () => {
    const rows = fc
      .tuple(fc.array(text, { maxLength: 5 }), fc.integer({ min: 8, max: 40 }), fc.array(primitive, { minLength: 1, maxLength: 7 }), fc.nat(200))
      .map(([keys, count, values, shapes]) => {
        const row = (names: string[], n: number): object => {
          const object = {}
          for (const [i, name] of names.entries()) define(object, name, values[(n + i) % values.length])
          return object
        }
        const others = Array.from({ length: shapes }, (_, i) => row([...keys, `key ${i % 150}`, 'x'], i))
        return [
          Array.from({ length: count }, (_, i) => ({ ...row(keys, i), list: [row(keys, i)], empty: {} })),
          others,
          Object.assign({}, others),
          row(keys, 1),
        ]
      })
    fc.assert(
      fc.property(rows, (value) => {
        expect(difference(sent(value), structuredClone(value))).toBeUndefined()
      }),
      { numRuns: 500 * share },
    )
  })
}
