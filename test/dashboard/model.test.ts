import { expect, test } from 'vitest'
import { cell, folded } from '../../src/dashboard/format/cell.js'
import { shownBytes, shownRate, shownTime, shownWhen, sparkline } from '../../src/dashboard/format/values.js'
import { FarmModel } from '../../src/dashboard/model/farm-model.js'
import { readFilter } from '../../src/dashboard/model/filter.js'
import { ListPosition } from '../../src/dashboard/model/list-position.js'
import { LogTail } from '../../src/dashboard/model/log-tail.js'
import { NodeModel } from '../../src/dashboard/model/node-model.js'
import { queryTasks, type TaskOrder } from '../../src/dashboard/model/task-query.js'
import type { FarmEvent, FarmEventBody, NodeStats } from '../../src/runtime/report/report.js'
import { scriptedStats, scriptedTask } from '../fixtures/scripted-node.js'

const counts = { attempt: 1, losses: 0, requeues: 0 }
const received: FarmEventBody = { type: 'task.received', id: 'a', name: 'mail', queue: 'q', counts }
const started: FarmEventBody = { type: 'task.started', id: 'a', name: 'mail', worker: 3, attempt: 1 }
const failed: FarmEventBody = { type: 'task.failed', id: 'a', name: 'mail', worker: 3, duration: 9, error: 'no', dead: undefined }

/** A node with these events, a second apart. */
const after = (...events: FarmEventBody[]): NodeModel => {
  const node = new NodeModel('n')
  for (const [i, event] of events.entries()) node.apply({ ...event, node: 'n', at: (i + 1) * 1_000 }, (i + 1) * 1_000)
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
  expect(after(...events).tasks.records()).toMatchObject([wanted])
})

test('the throughput is the jobs that ended between two heartbeats, per second; a node that restarts counts from 0', () => {
  const beatOf = (succeeded: number, failed = 0): FarmEventBody => ({
    type: 'node.heartbeat',
    stats: scriptedStats({ totals: { ...scriptedStats().totals, succeeded, failed } }),
  })
  expect(after(beatOf(1_000), beatOf(1_010, 2), beatOf(1_010, 2), beatOf(3), beatOf(8)).samples).toMatchObject([
    { ended: 12, failed: 2 },
    { ended: 0 },
    { ended: 5 },
  ])
})

test('the newest 300 jobs and ten minutes of samples are kept', () => {
  const node = new NodeModel('n')
  for (let i = 0; i < 1_000; i++) {
    node.apply({ ...received, id: `job-${i}`, node: 'n', at: i } as never, i)
    node.apply({ type: 'node.heartbeat', stats: scriptedStats(), node: 'n', at: i * 1_000 }, i)
  }
  expect(node.tasks.records()).toHaveLength(300)
  expect(node.tasks.records().at(-1)!.id).toBe('job-999')
  expect(node.samples).toHaveLength(600)
})

test('a job that runs stays in the list, however many others change', () => {
  const node = after({ ...received, id: 'long' }, { ...started, id: 'long' })
  for (let i = 0; i < 1_000; i++) node.apply({ ...received, id: `job-${i}`, node: 'n', at: i } as never, i)
  expect(node.tasks.records()).toHaveLength(300)
  expect(node.tasks.get('long')).toMatchObject({ status: 'running' })
  // Not without bound: events may come from anybody.
  for (let i = 0; i < 1_000; i++) node.apply({ ...started, id: `running-${i}`, node: 'n', at: i } as never, i)
  expect(node.tasks.records().length).toBeLessThanOrEqual(600)
})

test('a snapshot replaces the jobs of the events; running jobs come first, the longest at the top, then the last changed', () => {
  const node = after(received)
  const status = 'success'
  node.applySnapshot({
    stats: scriptedStats(),
    tasks: [
      scriptedTask({ id: 'x', status, ended: 10 }),
      scriptedTask({ id: 'runs', started: 9 }),
      scriptedTask({ id: 'y', status, ended: 11 }),
      scriptedTask({ id: 'runs longest', started: 8 }),
    ],
  })
  const ids = (): string[] => queryTasks(node.tasks.records(), '', 'newest').map(({ id }) => id)
  expect(ids()).toEqual(['runs longest', 'runs', 'y', 'x'])
  node.apply({ type: 'task.revoked', id: 'x', name: 'resize', worker: undefined, duration: 0, node: 'n', at: 12 }, 12)
  expect(ids()).toEqual(['runs longest', 'runs', 'x', 'y'])
})

const beat = (node: string, at: number, stats: Partial<NodeStats> = {}): FarmEvent => ({
  type: 'node.heartbeat',
  stats: scriptedStats({ node, ...stats }),
  node,
  at,
})

const farmOf = (...events: FarmEvent[]): FarmModel => {
  const farm = new FarmModel()
  for (const event of events) farm.apply(event, event.at)
  return farm
}
const names = (nodes: readonly NodeModel[]): string[] => nodes.map(({ name }) => name)

test('a node whose heartbeats have stopped is silent, then gone with the reason, told once, and forgotten a minute later', () => {
  const farm = farmOf(beat('b', 0), beat('a', 0), beat('a', 90_000))
  expect([farm.get('b')!.silentFor(5_000), farm.get('b')!.silentFor(5_001)]).toEqual([undefined, 5_001])
  expect(names(farm.present(15_000))).toEqual(['a', 'b'])
  expect(names(farm.newlyGone(15_001))).toEqual(['b'])
  expect(farm.get('b')!.goneReason(15_001)).toBe('no heartbeat for 15 s: killed, frozen or cut off')
  expect(farm.newlyGone(15_002)).toEqual([])
  expect([names(farm.nodes(16_000)), names(farm.present(16_000))]).toEqual([['a', 'b'], ['a']])
  expect([names(farm.nodes(75_001)), names(farm.nodes(75_002))]).toEqual([['a', 'b'], ['a']])
})

test('while the dashboard has lost its own connection no node is gone; their silence counts anew when it is back', () => {
  let connected = true
  const farm = new FarmModel(() => connected)
  const hear = (name: string, at: number) => farm.apply(beat(name, at), at)
  for (const [name, at] of [
    ['a', 0],
    ['b', 0],
    ['a', 1_000],
  ] as const)
    hear(name, at)
  farm.apply({ type: 'node.down', reason: 'SIGTERM', node: 'b', at: 1_000 }, 1_000)
  expect(farm.connected).toBe(true)
  connected = false
  expect(farm.connected).toBe(false)
  for (const now of [2_000, 20_000]) {
    expect(names(farm.present(now))).toEqual(['a'])
    expect(names(farm.newlyGone(now))).toEqual(now === 2_000 ? ['b'] : [])
    expect([farm.get('a')!.silentFor(now), farm.get('a')!.heard, farm.get('a')!.rateAt(now), farm.totals(now).rate]).toEqual([undefined, false, undefined, 0])
  }
  connected = true
  expect([names(farm.present(25_000)), farm.get('a')!.silentFor(25_001)]).toEqual([['a'], 5_001])
  hear('a', 26_000)
  expect([farm.get('a')!.heard, farm.get('a')!.rateAt(26_000)]).toEqual([true, 0])
  expect(names(farm.newlyGone(41_001))).toEqual(['a'])
})

test('a node with slow heartbeats is given ten of them; one that comes back is there, and told again when it goes', () => {
  const farm = farmOf(beat('a', 0, { heartbeatInterval: 10_000 }))
  expect(names(farm.present(100_000))).toEqual(['a'])
  expect(names(farm.newlyGone(100_001))).toEqual(['a'])
  farm.apply(beat('a', 101_000), 101_000)
  expect([farm.newlyGone(101_000), names(farm.present(101_000))]).toEqual([[], ['a']])
  expect(names(farm.newlyGone(120_000))).toEqual(['a'])
})

test('a clock that is set back hides no dead node, and no throughput', () => {
  const hour = 3_600_000
  const of = (succeeded: number) => ({ totals: { ...scriptedStats().totals, succeeded, failed: 0 } })
  // This machine's.
  const farm = farmOf(beat('a', hour), beat('b', hour))
  farm.apply({ type: 'node.down', reason: 'SIGTERM', node: 'b', at: hour }, hour)
  expect([names(farm.present(1_000)), names(farm.nodes(1_000))]).toEqual([['a'], ['a', 'b']])
  expect([names(farm.present(16_001)), names(farm.nodes(62_000))]).toEqual([[], ['a']])
  // A node's.
  const node = new NodeModel('n')
  for (const [at, succeeded] of [
    [hour, 0],
    [hour + 1_000, 10],
    [1_000, 30],
    [2_000, 50],
  ] as const)
    node.apply({ ...beat('n', at, of(succeeded)), at }, hour + succeeded)
  expect(node.samples).toMatchObject([{ ended: 10 }, { ended: 20 }])
})

test('a node that has said that it ends is gone at once, with its reason; started again it knows no job', () => {
  const farm = farmOf(beat('a', 0), { ...received, node: 'a', at: 1 }, { type: 'node.down', reason: 'SIGTERM', node: 'a', at: 2 })
  expect(farm.get('a')!.goneReason(3)).toBe('SIGTERM')
  expect([names(farm.present(3)), farm.tasks(3), farm.totals(3).nodes]).toEqual([[], [], 0])
  farm.apply({ type: 'node.up', pid: 1, host: 'h', version: '1', queues: [], tasks: [], node: 'a', at: 4 }, 4)
  farm.apply(beat('a', 5), 5)
  expect([names(farm.present(5)), farm.tasks(5)]).toEqual([['a'], []])
})

test('the totals of all nodes; a queue that several nodes share counts once', () => {
  const more = { totals: { ...scriptedStats().totals, succeeded: 50, failed: 7 }, scale: { min: 1, max: 1, wanted: 1, alive: 1, auto: false } }
  const farm = farmOf(beat('a', 0), beat('b', 0, { depth: 13, ...more }), beat('c', 0, { queues: ['other'], depth: 5, ...more }))
  const { jobs, ...totals } = farm.totals(0)
  expect(totals).toMatchObject({ nodes: 3, workers: 4, busy: 3, depth: 18, held: 9, running: 6 })
  expect(jobs).toMatchObject({ succeeded: 200, failed: 17, lost: 3 })
  expect(farm.queues(0)).toEqual(['async_farm.jobs', 'other'])
  expect(new FarmModel().totals(0)).toMatchObject({ nodes: 0, depth: undefined })
})

test('the history of all nodes has those that have gone, and steps of several seconds', () => {
  const of = (succeeded: number) => ({ totals: { ...scriptedStats().totals, succeeded, failed: 0 } })
  const ran = (duration: number, at: number): FarmEvent => ({ type: 'task.succeeded', id: 'x', name: 't', worker: 1, duration, node: 'a', at })
  const farm = farmOf(beat('a', 10_500, of(0)), ...Array.from({ length: 100 }, (_, i) => ran(i + 1, 11_000 + i * 30)), beat('a', 14_500, of(40)))
  expect(farm.seconds(20_000, 10, 5)).toMatchObject([
    // 10 jobs a second for four and a half of five seconds; the rest is not known.
    { at: 10_000, ended: 8, failed: 0, latency: { median: 51, p99: 100 } },
    { at: 15_000, ended: 0, latency: undefined },
  ])
  // What is over is not computed again.
  expect(farm.seconds(25_000, 15, 5)[1]!.latency).toBe(farm.seconds(30_000, 20, 5)[1]!.latency)
  farm.apply({ type: 'node.down', reason: 'SIGTERM', node: 'a', at: 20_000 }, 20_000)
  expect(names(farm.nodes(20_000))).toEqual(['a'])
  expect(names(farm.nodes(200_000))).toEqual([])
  expect(farm.seconds(200_000).reduce((sum, { ended }) => sum + ended, 0)).toBeCloseTo(40)
  expect(farm.seconds(900_000).every(({ ended, latency }) => ended === 0 && latency === undefined)).toBe(true)
})

test('throughput and latency of all nodes by second', () => {
  const of = (succeeded: number, failed = 0) => ({ totals: { ...scriptedStats().totals, succeeded, failed } })
  const ran = (duration: number, at: number): FarmEvent => ({ type: 'task.succeeded', id: 'x', name: 't', worker: 1, duration, node: 'a', at })
  const farm = farmOf(
    ...[beat('a', 10_000, of(0)), beat('b', 10_000, of(0)), beat('a', 11_000, of(4, 1)), beat('b', 12_000, of(20))],
    ...[ran(1, 11_500), ran(9, 11_600), ran(5, 11_700)],
  )
  expect(farm.seconds(13_500, 3)).toEqual([
    { at: 10_000, ended: 15, failed: 1, latency: undefined },
    { at: 11_000, ended: 10, failed: 0, latency: { median: 5, p99: 9 } },
    { at: 12_000, ended: 0, failed: 0, latency: undefined },
  ])
  expect(farm.seconds(13_500)).toHaveLength(600)
  // Its last figure counts no more once a node is silent.
  expect([farm.totals(13_500).rate, farm.totals(16_800).rate]).toEqual([15, 10])
})

test.each([
  ['', ['a', 'b', 'c']],
  ['MAIL', ['a', 'b']],
  ['task:mail state:failed', ['b']],
  ['state:success', ['a']],
  ['state:run', ['c']],
  ['oops', ['b']],
  ['node:web-2', ['c']],
  ['42', ['a']],
  ['queue:slow', ['c']],
  ['mail nothing', []],
])("the filter '%s'", (filter, ids) => {
  const list = new NodeModel('web-1').tasks
  list.replace(
    [
      scriptedTask({ id: 'a', name: 'mail', status: 'success', arguments: '[42]' }),
      scriptedTask({ id: 'b', name: 'mail', status: 'hard_timeout', error: 'Error: Oops' }),
    ],
    0,
  )
  const other = new NodeModel('web-2').tasks
  other.replace([scriptedTask({ id: 'c', queue: 'slow' })], 0)
  const found = queryTasks([...list.records(), ...other.records()], filter, 'task')
  expect(found.map(({ id }) => id).sort()).toEqual(ids)
})

test('a word of a filter that names no field is looked for as it is', () => {
  const line = { task: 'http://x', state: 's', queue: 'q', node: 'n', texts: [undefined, 'constructor:1'] }
  expect([readFilter('http://x')(line), readFilter('constructor:1')(line), readFilter('state:constructor')(line)]).toEqual([true, true, false])
})

test.each<[TaskOrder, string[]]>([
  ['newest', ['runs', 'late', 'slow', 'tried']],
  ['longest', ['runs', 'slow', 'tried', 'late']],
  ['task', ['slow', 'late', 'runs', 'tried']],
  ['state', ['tried', 'runs', 'late', 'slow']],
  ['attempts', ['tried', 'runs', 'late', 'slow']],
])('the order %s', (order, ids) => {
  const { tasks } = new NodeModel('n')
  tasks.replace(
    [
      scriptedTask({ id: 'tried', name: 'z', status: 'failure', ended: 1, duration: 5, counts: { attempt: 3, losses: 1, requeues: 0 } }),
      scriptedTask({ id: 'slow', name: 'a', status: 'success', ended: 2, duration: 9 }),
      scriptedTask({ id: 'late', name: 'b', status: 'success', ended: 3, duration: 1 }),
      scriptedTask({ id: 'runs', name: 'c' }),
    ],
    0,
  )
  expect(queryTasks(tasks.records(), '', order).map(({ id }) => id)).toEqual(ids)
})

test('a list follows the newest until its choice is moved; then it stands, tells how many are newer, and follows again from its top', () => {
  const at = new ListPosition<{ id: number; text?: string }>(({ id }) => String(id))
  const rows = (newest: number) => Array.from({ length: 4 }, (_, i) => ({ id: newest - i, text: `as of ${newest}` }))
  const shown = (newest: number) => at.rows(rows(newest)).map(({ id }) => id)
  expect([shown(4), at.chosen(rows(4))!.id, shown(5)]).toEqual([[4, 3, 2, 1], 4, [5, 4, 3, 2]])
  at.move(rows(5), 1)
  expect([shown(7), at.chosen(rows(7))!.id, at.newer(rows(7)), at.follows]).toEqual([[5, 4, 3, 2], 4, 2, false])
  // Rows that are still there say what they say now; the others stay as they were last.
  expect(at.rows(rows(7)).map(({ text }) => text)).toEqual(['as of 7', 'as of 7', 'as of 5', 'as of 5'])
  at.move(rows(7), -1)
  expect([at.chosen(rows(7))!.id, at.follows]).toEqual([5, false])
  at.move(rows(7), -1)
  expect([shown(8), at.follows, at.newer(rows(8))]).toEqual([[8, 7, 6, 5], true, 0])
  at.oldest(rows(8))
  expect([at.chosen(rows(9))!.id, at.newer(rows(9))]).toEqual([5, 1])
  at.newest()
  expect([at.chosen(rows(9))!.id, at.follows]).toEqual([9, true])
  // Nothing has come meanwhile: moving back to the top is enough.
  at.move(rows(9), 1)
  at.move(rows(9), -1)
  expect(at.follows).toBe(true)
  at.move([], 1)
  expect([at.follows, at.chosen([])]).toEqual([true, undefined])
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
  const at = new Date(2026, 10, 24, 14, 3, 59).getTime()
  tail.write(`${JSON.stringify({ level: 30, time: at, msg: 'hello', stream: 'stdout', at })}\n`)
  expect(tail.lines.at(-1)!.text).toBe('hello stream=stdout at=14:03:59')
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

test('a time of another day has its date', () => {
  const at = new Date(2026, 10, 24, 14, 3, 59).getTime()
  expect([shownWhen(at, at + 1_000), shownWhen(at, at + 86_400_000)]).toEqual(['14:03:59', '11-24 14:03'])
})

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
