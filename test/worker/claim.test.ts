import { describe, expect, test } from 'vitest'
import { Claimer, MAX_DELIVERY, Recaller } from '../../src/worker/claim.js'
import { hammered } from './claim.js'

const pair = (): { claimer: Claimer; recaller: Recaller } => {
  const word = new Int32Array(new SharedArrayBuffer(4))
  return { claimer: new Claimer(word, 0), recaller: new Recaller(word, 0) }
}

describe('claim word', () => {
  test('gives each delivery to the worker until it is closed', () => {
    const { claimer, recaller } = pair()
    expect(claimer.claim(1)).toBe(true)
    expect(claimer.claim(2)).toBe(true)
    expect(recaller.recall(5)).toBe(2)
    expect([3, 4, 5].map((delivery) => claimer.claim(delivery))).toEqual([false, false, false])
    expect(claimer.claim(6)).toBe(true)
    expect(recaller.recall(6)).toBe(6)
  })

  test('closed before anything was claimed, and twice', () => {
    const { claimer, recaller } = pair()
    expect(recaller.recall(2)).toBe(0)
    expect(recaller.recall(4)).toBe(0)
    expect(recaller.recall(3)).toBe(0)
    expect(claimer.claim(4)).toBe(false)
    expect(claimer.claim(5)).toBe(true)
  })

  test('closed for good, later recalls are still answered', () => {
    const { claimer, recaller } = pair()
    claimer.claim(1)
    expect(recaller.recall(MAX_DELIVERY)).toBe(1)
    expect(claimer.claim(2)).toBe(false)
    expect(recaller.recall(7)).toBe(1)
    expect(claimer.claim(MAX_DELIVERY - 1)).toBe(false)
  })

  // The others: claim.long.test.ts.
  hammered([1])
})
