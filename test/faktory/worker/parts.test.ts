import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FaktoryDelivery } from '../../../src/faktory/worker/delivery.js'
import { cutToBytes, failureOf } from '../../../src/faktory/worker/failure.js'
import { attemptOf, attemptsOf, hasRetryLeft, readJob, retryDelayOf } from '../../../src/faktory/worker/job.js'
import { QueueOrder, queueList } from '../../../src/faktory/worker/queue-order.js'
import type { Reports } from '../../../src/faktory/worker/reports.js'

describe('cutToBytes', () => {
  it('gives the longest beginning of whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat(80), (text, max) => {
        const cut = cutToBytes(text, max)
        expect(text.startsWith(cut)).toBe(true)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max)
        const next = [...text.slice(cut.length)][0]
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(max)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the argument of FAIL', () => {
  const stack = `Error: two\nlines\n${Array.from({ length: 60 }, (_, index) => `    at f${index} (file:///tasks.js:${index}:1)`).join('\n')}`
  const failed = (error: object, backtrace = 0) =>
    JSON.parse(failureOf({ jid: 'j', backtrace }, { name: 'Error', message: 'm', stack, code: undefined, ...error })) as {
      errtype: string
      message: string
      backtrace: string[]
    }

  it('has the name of the error, or what the pool calls it', () => {
    expect(failed({ name: 'RangeError' }).errtype).toBe('RangeError')
    expect(failed({ name: '' }).errtype).toBe('Error')
    expect(failed({ name: 'é'.repeat(80) }).errtype).toBe('é'.repeat(50))
    const types = ['WORKER_LOST', 'LOST_TOO_OFTEN', 'TIME_LIMIT', 'SOFT_TIME_LIMIT', 'MEMORY_LIMIT', 'NODE_SHUTDOWN'].map(
      (code) => failed({ name: 'Any', code: `ERR_PREFORK_${code}` }).errtype,
    )
    expect(types).toEqual(['WorkerLost', 'WorkerLost', 'TimeLimit', 'SoftTimeLimit', 'MemoryLimit', 'NodeShutdown'])
  })

  it('names the runs that were lost before, at the end', () => {
    const { message } = JSON.parse(failureOf({ jid: 'j', backtrace: 0 }, { name: 'Error', message: 'm', stack, code: undefined }, ['one', 'two'])) as {
      message: string
    }
    expect(message).toBe('m (Runs before it: one; two.)')
  })

  it('has the places of the stack alone, as many as the job wants, 30 at most', () => {
    expect(failed({}, 0).backtrace).toEqual([])
    expect(failed({}, -1).backtrace).toEqual([])
    expect(failed({}, 2).backtrace).toEqual(['at f0 (file:///tasks.js:0:1)', 'at f1 (file:///tasks.js:1:1)'])
    expect(failed({}, 100).backtrace).toHaveLength(30)
    expect(failed({ stack: undefined }, 5).backtrace).toEqual([])
    expect(Buffer.byteLength(failed({ stack: `    at f (data:text/javascript,${'x'.repeat(5_000)})` }, 1).backtrace[0]!)).toBe(1_000)
  })

  it('is one line, whatever is in the message', () => {
    const text = failureOf({ jid: 'j', backtrace: 0 }, { name: 'E', message: 'a\r\nb\u2028c', stack: undefined, code: undefined })
    expect(text).not.toMatch(/[\r\n]/)
    expect(JSON.parse(text).message).toBe('a\r\nb\u2028c')
  })
})

describe('a payload', () => {
  const job = (fields: object = {}) => readJob(JSON.stringify({ jid: 'j1', queue: 'q', jobtype: 'T', args: [1], retry: 25, ...fields }))

  it('has the reservation of the server: 1,800 s where it names none, 60 s at least', () => {
    expect([job(), job({ reserve_for: 0 }), job({ reserve_for: 1 }), job({ reserve_for: 600 })].map(({ reserveFor }) => reserveFor)).toEqual([
      1_800, 1_800, 60, 600,
    ])
  })

  it('is at the attempt that the server counts, with its retries and their delay', () => {
    const failed = (retry_count: number, retry: number) => job({ retry, failure: { retry_count } })
    expect([job(), failed(0, 3), failed(2, 3)].map(attemptOf)).toEqual([1, 2, 4])
    expect([-1, 0, 1, 25].map((retry) => attemptsOf({ retry }))).toEqual([1, 1, 2, 26])
    expect([job({ retry: -1 }), job({ retry: 0 }), job({ retry: 1 }), failed(0, 1), failed(0, 2)].map(hasRetryLeft)).toEqual([false, false, true, false, true])
    expect([job(), failed(0, 9), failed(1, 9)].map(retryDelayOf)).toEqual([15_000, 16_000, 31_000])
  })

  it('is refused where nothing could be reported for it; a field of another type is left out', () => {
    for (const text of ['{', 'null', '[]', '{}', '{"jid":5}', '{"jid":""}']) expect(() => readJob(text)).toThrow(/The server sent a job/)
    expect(job({ args: null, custom: [], failure: 5, retry: 'x', created_at: 5 })).toMatchObject({
      ...{ args: [], custom: undefined, failure: undefined, retry: 25, createdAt: undefined },
    })
    expect(job({ custom: JSON.parse('{"__proto__":{"polluted":true}}') }).custom).not.toHaveProperty('polluted')
  })
})

describe('a delivery', () => {
  const JOB = { jid: 'j1', queue: 'q', jobtype: 'T', args: ['large'], retry: 25, reserve_for: 60 }
  const deliveryOn = (wid: string) =>
    new FaktoryDelivery(
      readJob(JSON.stringify(JOB)),
      { size: 100, fetchedAt: performance.now() },
      // It reports nothing here: each of its reports waits.
      { wid, reports: { ack: () => new Promise<boolean>(() => {}) } as unknown as Reports, maxBodySize: 1_000, reserveMargin: 5_000, warn: () => {} },
      () => {},
    )

  it('has a key that no other has, on any node', () => {
    const keys = ['w1', 'w1', 'w2'].map((wid) => deliveryOn(wid).key)
    expect(new Set(keys).size).toBe(3)
    expect(keys[2]).toContain('w2')
  })

  it('keeps no arguments while its report waits', () => {
    const delivery = deliveryOn('w')
    expect(delivery.decode().args).toEqual(['large'])
    void delivery.settle({ kind: 'acknowledge' })
    expect(delivery.decode().args).toEqual([])
  })

  it('expires with its reservation alone, which no clock of the day changes', () => {
    const delivery = deliveryOn('w')
    expect(delivery.headers.expiresAt).toBeUndefined()
    expect(delivery.deadline - performance.now()).toBeGreaterThan(50_000)
  })
})

describe('the order of the queues', () => {
  it('is strict for a list', () => {
    const order = new QueueOrder(['b', 'a'])
    expect([order.next(), order.next()]).toEqual(['b a', 'b a'])
    expect(order.names).toEqual(['b', 'a'])
  })

  it('is drawn by weight, anew each time, and names each queue once', () => {
    const order = new QueueOrder({ often: 5, seldom: 1 })
    const drawn = Array.from({ length: 6_000 }, () => order.next())
    expect([...new Set(drawn)].toSorted()).toEqual(['often seldom', 'seldom often'])
    // 5,000 on average; the deviation is 29.
    const first = drawn.filter((each) => each.startsWith('often')).length
    expect(first).toBeGreaterThan(4_750)
    expect(first).toBeLessThan(5_250)
  })

  it('shuffles queues of equal weights', () => {
    const order = new QueueOrder({ a: 1, b: 1, c: 1 })
    expect(new Set(Array.from({ length: 500 }, () => order.next())).size).toBe(6)
  })

  it.each([
    [[], /at least one queue/],
    [{}, /at least one queue/],
    [['a b'], /queues\[0\].*letters, digits/],
    [['ünï'], /queues\[0\]/],
    [{ a: 0 }, /queues\.a.*weight/],
    [{ a: '5' }, /queues\.a.*weight/],
    [{ 'a b': 1 }, /letters, digits/],
    ['a', /must be an object/],
  ])('of %j is refused', (given, reason) => {
    expect(() => queueList('queues', given)).toThrow(reason)
  })
})
