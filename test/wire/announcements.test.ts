import { describe, expect, it } from 'vitest'
import { readFault, readHello, readLogLines, readStartFailed, readWorkerUp } from '../../src/wire/announcements.js'
import { encode } from '../../src/wire/codec/index.js'
import { ProtocolError, SerializationError } from '../../src/wire/errors.js'

const bytes = (value: unknown): Buffer => {
  const { body, binaries } = encode(value, 0)
  return Buffer.concat([body, ...binaries])
}

const line = { time: 1, stream: 'log', text: 'a line' }
const up = {
  pid: 7,
  tasks: [{ name: 'work', timeLimit: 5, softTimeLimit: undefined, retryLost: 0, maxAttempts: 2, backoff: { kind: 'fixed', delay: 7 } }],
  rss: 1,
  places: true,
}

describe('messages of a worker about itself', () => {
  it.each([
    ['HELLO', readHello, { protocol: 1, pid: 7, node: 'v20' }],
    ['WORKER_UP', readWorkerUp, up],
    ['START_FAILED', readStartFailed, { module: 'tasks.js', error: new Error('no') }],
    ['FAULT', readFault, { type: 'uncaughtException', error: 5, delivery: 3 }],
    ['FAULT of no job', readFault, { type: 'unhandledRejection', error: undefined }],
    ['LOG', readLogLines, [line, { ...line, stream: 'stderr' }]],
    ['LOG without a line', readLogLines, []],
  ] as const)('%s is read as it was sent', (_, read, value) => {
    expect(read(bytes(value))).toEqual(value)
  })

  const odd = [undefined, null, 0, 'text', [], {}, [null], [[]], new Map(), new Date()]
  it.each([
    [
      'HELLO',
      readHello,
      [
        { protocol: '1', pid: 7, node: 'v20' },
        { protocol: 1, pid: 7 },
      ],
    ],
    [
      'WORKER_UP',
      readWorkerUp,
      [
        { ...up, tasks: undefined },
        { ...up, tasks: { length: 1, 0: { name: 'work' } } },
        { ...up, tasks: [{ name: 1 }] },
        { ...up, tasks: [null] },
        { ...up, tasks: [{ name: 'work', timeLimit: Number.NaN }] },
        { ...up, tasks: [{ name: 'work', softTimeLimit: -1 }] },
        { ...up, tasks: [{ name: 'work', retryLost: 0.5 }] },
        { ...up, tasks: [{ name: 'work', maxAttempts: -1 }] },
        { ...up, tasks: [{ name: 'work', backoff: { kind: 'fixed' } }] },
        { ...up, tasks: [{ name: 'work', backoff: null }] },
        { ...up, rss: '1' },
        { ...up, pid: {} },
      ],
    ],
    ['START_FAILED', readStartFailed, [{ error: 1 }, { module: {} }]],
    ['FAULT', readFault, [{ type: 'other' }, { type: 'uncaughtException', delivery: 'one' }, { type: 'uncaughtException', delivery: -1 }]],
    ['LOG', readLogLines, [[{ ...line, text: {} }], [{ ...line, stream: 'toString' }], [{ ...line, time: '1' }], { length: 0 }]],
  ] as const)('%s of another shape is refused', (name, read, more) => {
    for (const value of [...odd, ...more]) {
      if (name === 'LOG' && Array.isArray(value) && value.length === 0) continue
      expect(() => read(bytes(value)), JSON.stringify(value)).toThrow(ProtocolError)
    }
    expect(() => read(Buffer.alloc(0))).toThrow(SerializationError)
  })
})
