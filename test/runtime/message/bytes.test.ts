/** Bodies that version 0.1.0 packed itself: nodes and publishers of that version and of this one read each other's messages. */
import { deepStrictEqual } from 'node:assert'
import { expect, test } from 'vitest'
import { decodeReply, encodeReply } from '../../../src/runtime/message/reply.js'
import { bytesOf } from '../../fuzz/corpus.js'

/** A value, its bytes as that version packed them, and as they are packed now where that differs. `*n` repeats the bytes before it. */
const bodies: [value: unknown, before: string, now?: string][] = [
  [null, 'c0'],
  [true, 'c3'],
  [false, 'c2'],
  [0, '00'],
  [127, '7f'],
  [128, 'cc80'],
  [255, 'ccff'],
  [256, 'cd0100'],
  [65_535, 'cdffff'],
  [65_536, 'ce00010000'],
  [4_294_967_295, 'ceffffffff'],
  [4_294_967_296, 'cf0000000100000000'],
  [9_007_199_254_740_991, 'cf001fffffffffffff'],
  [2 ** 53, 'cb4340000000000000'],
  [2 ** 64, 'cb43f0000000000000'],
  [-0, 'cb8000000000000000'],
  [-1, 'ff'],
  [-32, 'e0'],
  [-33, 'd0df'],
  [-128, 'd080'],
  [-129, 'd1ff7f'],
  [-32_768, 'd18000'],
  [-32_769, 'd2ffff7fff'],
  [-2_147_483_648, 'd280000000'],
  [-2_147_483_649, 'd3ffffffff7fffffff'],
  [-9_007_199_254_740_991, 'd3ffe0000000000001'],
  [1.5, 'cb3ff8000000000000'],
  [0.1, 'cb3fb999999999999a'],
  [5e-324, 'cb0000000000000001'],
  [Number.NaN, 'cb7ff8000000000000'],
  [Number.POSITIVE_INFINITY, 'cb7ff0000000000000'],
  [Number.NEGATIVE_INFINITY, 'cbfff0000000000000'],
  [2n ** 53n, 'cf0020000000000000'],
  [-(2n ** 53n), 'd3ffe0000000000000'],
  [2n ** 63n - 1n, 'cf7fffffffffffffff'],
  [2n ** 63n, 'cf8000000000000000'],
  [2n ** 64n - 1n, 'cfffffffffffffffff'],
  [-(2n ** 63n), 'd38000000000000000'],
  ['', 'a0'],
  ['x'.repeat(31), 'bf 78*31'],
  ['x'.repeat(32), 'd920 78*32'],
  ['x'.repeat(64), 'd940 78*64'],
  ['x'.repeat(65), 'd941 78*65'],
  ['x'.repeat(255), 'd9ff 78*255'],
  ['x'.repeat(256), 'da0100 78*256'],
  ['x'.repeat(65_535), 'daffff 78*65535'],
  ['x'.repeat(65_536), 'db00010000 78*65536'],
  ['é'.repeat(16), 'd920c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9'],
  ['é'.repeat(200), 'da0190 c3a9*200'],
  ['\u{1f600}\ufffd\u0000', 'a8f09f9880efbfbd00'],
  ['\ufeff', 'a3efbbbf'],
  [`\ufeff${'x'.repeat(61)}`, 'd940efbbbf 78*61'],
  [`\ufeff${'x'.repeat(62)}`, 'd941efbbbf 78*62'],
  [`\ufeff\ufeff${'é'.repeat(200)}`, 'da0196efbbbfefbbbf c3a9*200'],
  [new Date(0), 'd6ff00000000'],
  [new Date(1_000), 'd6ff00000001'],
  [new Date(1_001), 'd7ff003d090000000001'],
  [new Date(4_294_967_295_999), 'd7ffee2e1f00ffffffff'],
  [new Date(4_294_967_296_000), 'd7ff0000000100000000', 'c70cff000000000000000100000000'],
  [new Date(2 ** 34 * 1_000), 'c70cff000000000000000400000000'],
  [new Date(-1), 'c70cff3b8b87c0ffffffffffffffff'],
  [new Date(8.64e15), 'c70cff00000000000007dba8218000'],
  [new Date(-8.64e15), 'c70cff00000000fffff82457de8000'],
  [Buffer.alloc(0), 'c400'],
  [Buffer.from([0, 255]), 'c40200ff'],
  [Buffer.alloc(256, 1), 'c50100 01*256'],
  [Buffer.alloc(65_536, 1), 'c600010000 01*65536'],
  [[], '90'],
  [[[], [[1]], {}], '939091910180'],
  [Array.from({ length: 15 }, () => 1), '9f010101010101010101010101010101'],
  [Array.from({ length: 16 }, () => 1), 'dc001001010101010101010101010101010101'],
  [Array.from({ length: 65_536 }, () => 1), 'dd00010000 01*65536'],
  [{}, '80'],
  [{ a: 1, b: { c: [null] } }, '82a16101a16281a16391c0'],
  [
    { constructor: 1, toJSON: 'x', hasOwnProperty: 2, length: 3, '': 4, 10: 5, 2: 6 },
    '87a13206a2313005ab636f6e7374727563746f7201a6746f4a534f4ea178ae6861734f776e50726f706572747902a66c656e67746803a004',
  ],
  [JSON.parse('{"__proto__":{"a":1},"__proto_":2}'), '82a95f5f70726f746f5f5f81a16101a85f5f70726f746f5f02'],
  [{ [`\ufeff${'k'.repeat(62)}`]: 1 }, '81d941efbbbf 6b*62 01'],
  [
    Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, i])),
    'de0010a26b3000a26b3101a26b3202a26b3303a26b3404a26b3505a26b3606a26b3707a26b3808a26b3909a36b31300aa36b31310ba36b31320ca36b31330da36b31340ea36b31350f',
  ],
]

/** `{ ok: true, value }`, the body of a reply. */
const reply = (text: string): Buffer => Buffer.concat([Buffer.from('\x82\xa2ok\xc3\xa5value', 'latin1'), bytesOf(text)])
const name = (value: unknown, bytes: string): string => `${typeof value} ${bytes.slice(0, 40)}`

test.for(bodies.map(([value, before, now = before]) => [name(value, before), value, before, now] as const))('%s', ([, value, before, now]) => {
  for (const bytes of [before, now]) deepStrictEqual(decodeReply(reply(bytes)), { ok: true, value })
  expect(encodeReply({ ok: true, value }).equals(reply(now))).toBe(true)
})
