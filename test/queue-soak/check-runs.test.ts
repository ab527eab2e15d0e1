import { expect, it } from 'vitest'
import { checkRuns, parseJournal, problemLines } from './check-runs.js'

const NONE = { lost: [], confirmedTwice: [], begunAfterEnd: [], neverRan: [], tornFlows: [] }

const check = (journal: string[], states: Record<string, string>, completes = true, added: string[] = []) =>
  checkRuns({ added, lines: parseJournal([...journal, ''].join('\n')), states: new Map(Object.entries(states)), flowSize: 2 }, completes)

it('finds nothing wrong with a job that ran again before its end was confirmed', () => {
  expect(check(['begun a', 'ended a', 'begun a', 'ended a', 'confirmed a'], { a: 'completed' }, true, ['a'])).toEqual(NONE)
})

it('finds a job that was added and is gone, or has not completed', () => {
  expect(check([], {}, false, ['a'])).toEqual({ ...NONE, lost: ['a'] })
  expect(check([], { a: 'waiting' }, false, ['a'])).toEqual(NONE)
  expect(check([], { a: 'waiting' }, true, ['a'])).toEqual({ ...NONE, lost: ['a'] })
})

it('finds an end that was confirmed and is not stored', () => {
  expect(check(['begun a', 'ended a', 'confirmed a'], { a: 'waiting' }, false)).toEqual({ ...NONE, lost: ['a'] })
})

it('finds an end that was confirmed twice, and a run after it', () => {
  const journal = ['begun a', 'ended a', 'confirmed a', 'begun a', 'ended a', 'confirmed a']
  expect(check(journal, { a: 'completed' })).toEqual({ ...NONE, confirmedTwice: ['a'], begunAfterEnd: ['a'] })
})

it('finds a job that completed without a run', () => {
  expect(check(['begun a'], { a: 'completed' })).toEqual({ ...NONE, neverRan: ['a'] })
})

it('finds a flow of which a part is there, or that was confirmed and is gone', () => {
  const states = { 'flow-1-2-0': 'waiting', 'flow-1-2-root': 'blocked', 'flow-3-4-0': 'waiting' }
  expect(check(['flow 1-2', 'flow 5-6'], states, false).tornFlows).toEqual(['5-6: 0 of 2', '3-4: 1 of 2'])
})

it('leaves out a line that a death has cut off', () => {
  expect(parseJournal('begun a 12 34\nbegun b\nconfir')).toEqual([
    { mark: 'begun', id: 'a', at: 12, by: '34' },
    { mark: 'begun', id: 'b', at: Number.NaN, by: '' },
  ])
})

it('says what it found in a line for each kind', () => {
  const problems = { ...NONE, lost: ['a', 'b', 'c', 'd', 'e', 'f'], confirmedTwice: ['g'] }
  expect(problemLines(problems)).toEqual(['lost: 6 (a, b, c, d, e, …)', 'confirmedTwice: 1 (g)'])
  expect(problemLines(NONE)).toEqual([])
})
