import { describe, expect, it } from 'vitest'
import { parseRate, RateLimits, TokenBucket } from '../../../src/runtime/admission/rate-limits.js'

describe('rate limits', () => {
  it('are parsed, or refused with their text', () => {
    expect([parseRate('10/s'), parseRate(' 600 / m'), parseRate('0.5/h')]).toEqual([0.01, 0.01, 0.5 / 3_600_000])
    for (const wrong of ['0/s', '10', '10/d', '-1/s', '', 10, null, '1e9/s']) expect(() => parseRate(wrong)).toThrow(/'10\/s', '600\/m', '1000\/h'/)
  })

  it('have a bucket that holds the tokens of a tenth of a second and fills evenly', () => {
    const bucket = new TokenBucket(parseRate('100/s'))
    for (let n = 0; n < 10; n++) {
      expect(bucket.wait(1_000)).toBe(0)
      bucket.take(1_000)
    }
    expect(bucket.wait(1_000)).toBe(10)
    expect(bucket.wait(1_006)).toBeCloseTo(4)
    expect(bucket.wait(1_010)).toBe(0)
    expect(bucket.wait(99_000)).toBe(0)
  })

  it('have a bucket of one token when they are slow', () => {
    const bucket = new TokenBucket(parseRate('60/h'))
    expect(bucket.wait(0)).toBe(0)
    bucket.take(0)
    expect(bucket.wait(0)).toBe(60_000)
  })

  it('have a token in a full bucket at any time of the clock', () => {
    for (const rate of ['3/s', '7/s', '0.3/s', '11/m']) {
      for (let now = 0.1; now < 1e9; now *= 1.37) expect(new TokenBucket(parseRate(rate)).wait(now)).toBe(0)
    }
  })

  it('of task and queue apply together', () => {
    const limits = new RateLimits()
    limits.set('task', 't', '1/s')
    limits.set('queue', 'q', '2/s')
    const start = (task: string, queue: string): number => {
      const wait = limits.wait(task, queue, 0)
      limits.take(task, queue, 0)
      return wait
    }
    expect([start('t', 'q'), start('other', 'q'), start('t', 'q'), start('other', 'elsewhere')]).toEqual([0, 500, 1_000, 0])
    expect([limits.applyTo('t', 'q'), limits.applyTo('t', 'elsewhere'), limits.applyTo('other', 'q'), limits.applyTo('other', 'elsewhere')]).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect(limits.list()).toEqual({ 'task t': '1/s', 'queue q': '2/s' })
    limits.set('task', 't', null)
    expect(limits.list()).toEqual({ 'queue q': '2/s' })
  })
})
