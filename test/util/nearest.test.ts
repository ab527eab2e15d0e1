import { describe, expect, test } from 'vitest'
import { nearest } from '../../src/util/nearest.js'

const names = ['timeLimit', 'softTimeLimit', 'workers', 'concurrency', 'output', 'env', 'cwd']

describe('nearest', () => {
  test.each([
    ['timelimit', 'timeLimit'],
    ['TIMELIMIT', 'timeLimit'],
    ['timeLimt', 'timeLimit'],
    ['worker', 'workers'],
    ['concurency', 'concurrency'],
    ['ouptut', 'output'],
    ['evn', 'env'],
  ])('%s means %s', (wrong, right) => {
    expect(nearest(wrong, names)).toBe(right)
  })

  test('prefers the nearest, and of equals the first', () => {
    expect(nearest('resize', ['resized2', 'resizes', 'size'])).toBe('resizes')
    expect(nearest('ab', ['abc', 'abd'])).toBe('abc')
  })

  test.each(['completelyDifferent', 'maxMemory'])('%s means none of them', (wrong) => {
    expect(nearest(wrong, names)).toBeUndefined()
  })

  test('there may be no names at all, or a name without a letter', () => {
    expect(nearest('resize', [])).toBeUndefined()
    expect(nearest('', ['resize'])).toBeUndefined()
  })
})
