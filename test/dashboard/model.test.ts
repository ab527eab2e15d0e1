import { expect, test } from 'vitest'
import { cell, folded } from '../../src/dashboard/format/cell.js'
import { shownBytes, shownRate, shownTime, sparkline } from '../../src/dashboard/format/values.js'
import { FarmModel, NodeModel } from '../../src/dashboard/model/farm-model.js'
import { LogTail } from '../../src/dashboard/model/log-tail.js'
import type { FarmEventBody } from '../../src/runtime/report/report.js'
import { scriptedStats, scriptedTask } from '../fixtures/scripted-node.js'

const counts = { attempt: 1, losses: 0, requeues: 0 }
const received: FarmEventBody = { type: 'task.received', id: 'a', name: 'mail', queue: 'q', counts }
const started: FarmEventBody = { type: 'task.started', id: 'a', name: 'mail', worker: 3, attempt: 1 }
const failed: FarmEventBody = { type: 'task.failed', id: 'a', name: 'mail', worker: 3, duration: 9, error: 'no', dead: undefined }

/** A node with these events, a second apart. */
const after = (...events: FarmEventBody[]): NodeModel => {
  const node = new NodeModel('n')
  for (const [i, event] of events.entries()) node.apply({ ...event, node: 'n', at: (i + 1) * 1_000 }, i)
  return node
}

test.each<[string, FarmEventBody[], object]>([
  ['received', [received], { status: 'pending', queue: 'q', received: 1_000 }],
  ['started', [received, started], { status: 'running', worker: 3, started: 2_000 }],
  ['started, the event before was lost', [started], { status: 'running', received: 1_000 }],
  [
    'succeeded',
    [received, started, { type: 'task.succeeded', id: 'a', name: 'mail', worker: 3, duration: 9 }],
    { status: 'success', ended: 3_000, duration: 9 },
  ],
  ['failed', [received, started, failed], { status: 'failure', error: 'no' }],
  [
    'over the soft limit',
    [received, started, { type: 'task.soft_timeout', id: 'a', name: 'mail', worker: 3, duration: 9 }, failed],
    { status: 'soft_timeout', error: 'no' },
  ],
  [
    'over the hard limit',
    [received, started, failed, { type: 'task.hard_timeout', id: 'a', name: 'mail', worker: 3, duration: 9 }],
    { status: 'hard_timeout' },
  ],
  [
    'over the soft limit, and done',
    [
      received,
      started,
      { type: 'task.soft_timeout', id: 'a', name: 'mail', worker: 3, duration: 9 },
      { type: 'task.succeeded', id: 'a', name: 'mail', worker: 3, duration: 12 },
    ],
    { status: 'success', duration: 12 },
  ],
  [
    'retried',
    [
      received,
      started,
      failed,
      { type: 'task.retried', id: 'a', name: 'mail', worker: 3, duration: 9, delay: 5, counts: { ...counts, attempt: 2 }, error: 'no' },
    ],
    { status: 'retried', duration: 9, counts: { attempt: 2 } },
  ],
  ['come again', [received, started, failed, received], { status: 'pending', started: undefined, duration: undefined }],
  [
    'lost',
    [received, started, { type: 'task.lost', id: 'a', name: 'mail', worker: 3, duration: 9, reason: 'SIGKILL', losses: 2 }],
    { status: 'lost', duration: 9, error: 'SIGKILL', counts: { losses: 2 } },
  ],
  [
    'revoked unbegun',
    [received, { type: 'task.revoked', id: 'a', name: 'mail', worker: undefined, duration: 0 }],
    { status: 'revoked', ended: 2_000, duration: undefined },
  ],
  ['revoked as it ran', [received, started, { type: 'task.revoked', id: 'a', name: 'mail', worker: 3, duration: 9 }], { status: 'revoked', duration: 9 }],
])('a job that was %s', (_, events, wanted) => {
  expect(after(...events).tasks.list()).toMatchObject([wanted])
})

test('the throughput is the jobs that ended between two heartbeats, per second; a node that restarts counts from 0', () => {
  const beat = (succeeded: number, failed = 0): FarmEventBody => ({
    type: 'node.heartbeat',
    stats: scriptedStats({ totals: { ...scriptedStats().totals, succeeded, failed } }),
  })
  expect(after(beat(1_000), beat(1_010, 2), beat(1_010, 2), beat(3), beat(8)).throughput).toEqual([12 - 0, 0, 5])
})

test('the newest 300 jobs and 60 samples are kept', () => {
  const node = new NodeModel('n')
  for (let i = 0; i < 1_000; i++) {
    node.apply({ ...received, id: `job-${i}`, node: 'n', at: i } as never, i)
    node.apply({ type: 'node.heartbeat', stats: scriptedStats(), node: 'n', at: i * 1_000 }, i)
  }
  expect(node.tasks.list()).toHaveLength(300)
  expect(node.tasks.list()[0]!.id).toBe('job-999')
  expect(node.throughput).toHaveLength(60)
})

test('a snapshot replaces the jobs of the events; running jobs come first, the longest at the top, then the last changed', () => {
  const node = after(received)
  const status = 'success'
  node.applySnapshot({
    stats: scriptedStats(),
    tasks: [
      scriptedTask({ id: 'x', status }),
      scriptedTask({ id: 'runs', started: 9 }),
      scriptedTask({ id: 'y', status }),
      scriptedTask({ id: 'runs longest', started: 8 }),
    ],
  })
  const ids = (): string[] => node.tasks.list().map(({ id }) => id)
  expect(ids()).toEqual(['runs longest', 'runs', 'y', 'x'])
  node.apply({ type: 'task.revoked', id: 'x', name: 'resize', worker: undefined, duration: 0, node: 'n', at: 0 }, 0)
  expect(ids()).toEqual(['runs longest', 'runs', 'x', 'y'])
})

test('nodes are listed by name, and removed a minute after their last event unless they are shown', () => {
  const farm = new FarmModel()
  for (const [node, at] of [
    ['b', 0],
    ['a', 0],
    ['c', 50_000],
  ] as const)
    farm.apply({ type: 'node.heartbeat', stats: scriptedStats({ node }), node, at: 0 }, at)
  expect(farm.nodes(60_000).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
  expect(farm.nodes(60_001, 'b').map(({ name }) => name)).toEqual(['b', 'c'])
})

test('a node that went down is down until its next heartbeat', () => {
  expect(after({ type: 'node.down', reason: 'SIGTERM' }).down).toBe('SIGTERM')
  expect(after({ type: 'node.down', reason: 'SIGTERM' }, { type: 'node.heartbeat', stats: scriptedStats() }).down).toBeUndefined()
})

test('the last lines of a log', () => {
  const tail = new LogTail()
  for (let i = 0; i < 600; i++) tail.write(`{"level":30,"time":${i},"msg":"line","n":${i},"err":{"message":"why"}}\n`)
  expect(tail.lines).toHaveLength(500)
  expect(tail.lines.at(-1)).toEqual({ level: 30, time: 599, text: 'line (why) n=599' })
  tail.write('no JSON\n')
  expect(tail.lines.at(-1)!.text).toBe('no JSON')
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_950, '1m 00s'],
  [125_000, '2m 05s'],
  [3_600_000, '1h 00m'],
  [90_000_000, '1d 01h'],
])('%i ms are %s', (ms, text) => expect(shownTime(ms)).toBe(text))

test('other values', () => {
  expect([shownBytes(61.4e6), shownBytes(2.5e9), shownRate(0), shownRate(3.14), shownRate(12_345)]).toEqual(['61 MB', '2.5 GB', '0/s', '3.1/s', '12,345/s'])
  expect(sparkline([9, 0, 5, 10], 3)).toBe('▁▅█')
  expect(sparkline([0, 0], 5)).toBe('▁▁')
})

test('a cell has its width in columns, one line, and no control characters', () => {
  expect(cell('abc', 5)).toBe('abc  ')
  expect(cell('abc', 5, 'right')).toBe('  abc')
  expect(cell('abcdef', 4)).toBe('abc…')
  expect(cell('画像を', 5)).toBe('画像…')
  expect(cell('a\nb\x1b[2J', 12)).toBe('a b\\x1b[2J  ')
  expect(folded('abcdef\ngh', 4)).toEqual(['abcd', 'ef', 'gh'])
  expect(folded('画像を', 4)).toEqual(['画像', 'を'])
})
