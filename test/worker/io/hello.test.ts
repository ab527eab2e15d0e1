import { expect, test } from 'vitest'
import { decode } from '../../../src/wire/codec/index.js'
import { PROTOCOL_VERSION } from '../../../src/wire/messages.js'
import { helloFrame } from '../../../src/worker/io/hello.js'
import { FrameCutter } from '../loop-harness.js'

test('the codec reads HELLO, which is made without it', () => {
  const [frame, ...rest] = new FrameCutter().take(helloFrame(4_000_000_000, 'v20.20.2'))
  expect(rest).toEqual([])
  expect(decode(frame!.payload, 0)).toEqual({ protocol: PROTOCOL_VERSION, pid: 4_000_000_000, node: 'v20.20.2' })
})
