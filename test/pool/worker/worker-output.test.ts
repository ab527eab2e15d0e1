import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lineReader, Tail } from '../../../src/pool/worker/worker-output.js'

const read = (chunks: readonly Buffer[], isOver = () => false): string[] => {
  const lines: string[] = []
  const reader = lineReader((line) => lines.push(line), isOver)
  reader.next()
  for (const chunk of chunks) {
    let { value } = reader.next(chunk)
    while (value === true) ({ value } = reader.next(Buffer.alloc(0)))
  }
  reader.return()
  return lines
}

const cut = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))

describe('lines', () => {
  test('are the same in many turns', () => {
    expect(read([Buffer.from('a\nb\nc'), Buffer.from('d\n\ne')], () => true)).toEqual(['a', 'b', 'cd', '', 'e'])
  })

  test('are the same wherever the chunks are cut, also within a character', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀', ' ', '\r'), maxLength: 20 })
    fc.assert(
      fc.property(fc.array(line, { maxLength: 10 }), line, fc.integer({ min: 1, max: 50 }), (lines, rest, size) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join('') + rest)
        expect(read(cut(bytes, size))).toEqual(rest === '' ? lines : [...lines, rest])
      }),
    )
  })

  test('need no newline at the end, nor a complete last character', () => {
    expect(read([Buffer.from('a\nb')])).toEqual(['a', 'b'])
    expect(read([Buffer.from('a\n'), Buffer.from('é').subarray(0, 1)])).toEqual(['a', '\ufffd'])
    expect(read([Buffer.from('\n\n')])).toEqual(['', ''])
    expect(read([])).toEqual([])
  })

  test('are cut if they never end, so that they take a bounded amount of memory', () => {
    const chunk = Buffer.alloc(10_000, 'x')
    const lines = read([...Array(50).fill(chunk), Buffer.from('y\n')])
    expect(Math.max(...lines.map((each) => each.length))).toBeLessThanOrEqual(64 * 1024 + chunk.length)
    expect(lines.join('')).toBe(`${'x'.repeat(500_000)}y`)
  })
})

describe('the tail', () => {
  const tailOf = (...lines: string[]): string => {
    const tail = new Tail()
    for (const line of lines) tail.add(Buffer.from(`${line}\n`))
    return tail.text
  }

  test('is the whole output while that is short', () => {
    expect(tailOf()).toBe('')
    expect(tailOf('a', 'b')).toBe('a\nb')
  })

  test('is the last whole lines of at most 4 KB', () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => `line ${i}`)
    const kept = tailOf(...lines).split('\n')
    expect(kept).toEqual(lines.slice(-kept.length))
    expect(kept.length).toBeGreaterThan(300)
    expect(tailOf(...lines).length).toBeLessThanOrEqual(4_096)
  })

  test('is the end of a single long line', () => {
    expect(tailOf(`${'x'.repeat(10_000)}the end`)).toMatch(/^x{4000,}the end$/)
    expect(tailOf('before', `${'x'.repeat(10_000)}the end`)).toMatch(/^x{4000,}the end$/)
    expect(tailOf('x'.repeat(10_000), 'Error: after')).toBe('Error: after')
  })
})
