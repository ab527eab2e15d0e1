import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { readLines } from '../../../src/node/control/lines.js'

/** What is received of these chunks. */
const linesOf = async (max: number, ...chunks: (string | Buffer)[]): Promise<{ lines: string[]; tooLong: number }> => {
  const stream = new PassThrough()
  const read = { lines: [] as string[], tooLong: 0 }
  readLines(
    stream as unknown as Socket,
    max,
    (line) => read.lines.push(line),
    () => {
      read.tooLong++
    },
  )
  for (const chunk of chunks) stream.write(chunk)
  const ended = new Promise((resolve) => stream.on('end', resolve))
  stream.end()
  await ended
  return read
}

test('lines arrive whole, however they are cut', async () => {
  const text = 'one\ntwo ä€😀\n\nlast\nrest'
  const wanted = { lines: ['one', 'two ä€😀', '', 'last'], tooLong: 0 }
  expect(await linesOf(100, text)).toEqual(wanted)
  const bytes = Buffer.from(text)
  expect(await linesOf(100, ...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toEqual(wanted)
})

test('a line of many small pieces is joined', async () => {
  const { lines } = await linesOf(10_000, ...Array.from({ length: 5_000 }, (_, at) => String(at % 10)), '\n')
  expect(lines).toEqual(['0123456789'.repeat(500)])
})

test('nothing is received after a line that is too long', async () => {
  expect(await linesOf(5, '12345\n', '123', '456\nnext\n', 'more\n')).toEqual({ lines: ['12345'], tooLong: 1 })
})
