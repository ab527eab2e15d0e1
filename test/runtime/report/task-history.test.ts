import { expect, test } from 'vitest'
import type { JobMessage } from '../../../src/runtime/message/job.js'
import { shownArguments } from '../../../src/runtime/report/shown-arguments.js'
import { endEntry, newRecord, TaskHistory } from '../../../src/runtime/report/task-history.js'

const counts = { attempt: 1, losses: 0, requeues: 0 }

/** The entry of a job that has ended, and what snapshots show of it. */
const ended = (message: JobMessage) => {
  const history = new TaskHistory(10, true)
  const headers = { history: [] }
  const entry = history.add(newRecord('id', message.task, { queue: 'q', counts, headers: headers as never }), message)
  endEntry({ historyEntry: entry, worker: 1, startedAt: 1, headers, newHistory: [] }, 'success', undefined)
  return { entry, shown: history.records()[0]?.arguments }
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

test.each<[string, unknown[], Partial<JobMessage>?]>([
  ['numbers and texts', [1, 'a', null, true, 2n]],
  ['an object', [{ user: 1, email: 'user@example.com', password: 'secret' }]],
  ['lists in objects', [{ ids: [1, 2, 3] }, ['a']]],
])('the arguments of an ended job are written when somebody asks: %s', (_, args, more = {}) => {
  const message = { task: 't', args, ...more }
  const { entry, shown } = ended(message)
  expect(entry.message).toBe(message)
  expect(shown).toBe(shownArguments(message))
})

test.each<[string, unknown[], Partial<JobMessage>?]>([
  ['a long text', ['x'.repeat(201)]],
  ['a long text in an object', [{ a: { b: 'x'.repeat(201) } }]],
  ['a long name', [{ ['x'.repeat(201)]: 1 }]],
  ['many values', [Array.from({ length: 30 }, (_, n) => n)]],
  ['deep lists', [nested(30)]],
  ['a binary, which is a part of a larger one', [{ data: Buffer.from('x') }]],
  ['a date', [new Date(0)]],
  ['named arguments', [], { kwargs: { a: 1 } }],
])('larger ones are not kept for that: %s', (_, args, more = {}) => {
  const message = { task: 't', args, ...more }
  const { entry, shown } = ended(message)
  expect(entry.message).toBeUndefined()
  expect(shown).toBe(shownArguments(message))
})
