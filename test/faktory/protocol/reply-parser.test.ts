import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Reply, ReplyParser, ReplySyntaxError } from '../../../src/faktory/protocol/reply-parser.js'

const parse = (bytes: Buffer | string, cuts: readonly number[] = [], parser = new ReplyParser()): Reply[] => {
  const all = Buffer.from(bytes as string)
  const replies: Reply[] = []
  let from = 0
  for (const cut of [...cuts.filter((each) => each > 0 && each < all.length).toSorted((a, b) => a - b), all.length]) {
    parser.push(all.subarray(from, cut), (reply) => replies.push(reply))
    from = cut
  }
  return replies
}

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`

describe('ReplyParser', () => {
  it('reads each kind of answer', () => {
    expect(
      parse(`+OK\r\n$-1\r\n${bulk('{"a":"é😀\\r\\n"}')}${bulk('')}${bulk('a\r\nb')}:-42\r\n-ERR Job not found x\r\n-NOTUNIQUE Job not unique\r\n-ODD\r\n+\r\n`),
    ).toEqual([
      'OK',
      null,
      '{"a":"é😀\\r\\n"}',
      '',
      'a\r\nb',
      '-42',
      { code: 'ERR', text: 'Job not found x' },
      { code: 'NOTUNIQUE', text: 'Job not unique' },
      { code: 'ODD', text: 'ODD' },
      '',
    ])
  })

  it('reads the same however the bytes are cut', () => {
    const answer = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text): [string, Reply] => [bulk(text), text]),
      fc.stringMatching(/^[^\r\n]*$/).map((text): [string, Reply] => [`+${text}\r\n`, text]),
      fc.stringMatching(/^[^\r\n ]+$/).map((text): [string, Reply] => [`-ERR ${text}\r\n`, { code: 'ERR', text }]),
      fc.constant<[string, Reply]>(['$-1\r\n', null]),
      fc.integer().map((number): [string, Reply] => [`:${number}\r\n`, String(number)]),
    )
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 8 }), fc.array(fc.nat(400)), (answers, cuts) => {
        const bytes = answers.map(([text]) => text).join('')
        const want = answers.map(([, reply]) => reply)
        expect(parse(bytes, cuts)).toEqual(want)
        expect(
          parse(
            bytes,
            Array.from({ length: Buffer.byteLength(bytes) }, (_, n) => n),
          ),
        ).toEqual(want)
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['junk', 'HTTP/1.1 200 OK\r\n'],
    ['TLS', '\x16\x03\x01'],
    ['a length that is no number', '$x\r\n'],
    ['an empty length', '$\r\n'],
    ['a negative length', '$-2\r\n'],
    ['a fraction', '$1.5\r\n'],
    ['a huge length', '$999999999999\r\n'],
    ['an absurd length', `$${'9'.repeat(400)}\r\n`],
    ['an integer that is none', ':x\r\n'],
    ['a line that ends with LF alone', '+OK\n'],
    ['a body that is longer than its length', '$2\r\nabc\r\n'],
    ['a body without its end', '$2\r\nabXY'],
  ])('refuses %s, at every cut, and all that follows', (_what, bytes) => {
    for (let cut = 0; cut < bytes.length; cut++) {
      const parser = new ReplyParser()
      expect(() => parse(bytes, [cut], parser)).toThrow(ReplySyntaxError)
      expect(() => parse('+OK\r\n', [], parser)).toThrow(ReplySyntaxError)
    }
  })

  it('gives the answers before the junk', () => {
    const replies: Reply[] = []
    expect(() => new ReplyParser().push(Buffer.from('+OK\r\n?'), (reply) => replies.push(reply))).toThrow(ReplySyntaxError)
    expect(replies).toEqual(['OK'])
  })

  it('refuses a line that does not end', () => {
    const parser = new ReplyParser()
    const chunk = Buffer.alloc(65_536, '+')
    expect(() => {
      for (let n = 0; n < 17; n++) parser.push(chunk, () => {})
    }).toThrow(/a line of more than 1048576 bytes/)
  })

  it('reserves no memory for a length, and copies a large body once', () => {
    const before = process.memoryUsage().arrayBuffers
    const parser = new ReplyParser()
    parser.push(Buffer.from('$200000000\r\nab'), () => {})
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
    // In pieces of 1 KB: copying what is there at each of them would be 16 GB.
    const piece = Buffer.alloc(1_024, 'x')
    const text = `$${piece.length * 5_632}\r\n`
    const large = new ReplyParser()
    large.push(Buffer.from(text), () => {})
    for (let n = 0; n < 5_632; n++) large.push(piece, () => {})
    let length = 0
    large.push(Buffer.from('\r\n'), (reply) => {
      length = (reply as string).length
    })
    expect(length).toBe(piece.length * 5_632)
  })

  it('takes a bulk string of the largest size, and none above', () => {
    expect(parse('$5\r\nabcde\r\n', [], new ReplyParser(5))).toEqual(['abcde'])
    expect(() => parse('$6\r\nabcdef\r\n', [], new ReplyParser(5))).toThrow(/6 bytes; at most 5/)
  })
})
