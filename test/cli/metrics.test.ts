import { expect, test } from 'vitest'
import { Metrics } from '../../src/cli/http/metrics.js'
import { liveness, readiness } from '../../src/cli/http/server.js'
import { ScriptedNode, scriptedStats } from '../fixtures/scripted-node.js'

/** One sample or comment of the text format, https://prometheus.io/docs/instrumenting/exposition_formats/ */
const LINE = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? (\+Inf|-?\d+(\.\d+)?(e[+-]?\d+)?))$/

test('each line has the format, each sample a family that is declared once', () => {
  const metrics = new Metrics()
  const node = new ScriptedNode({ node: 'a "quoted" \\ node\n', depth: undefined })
  metrics.watch(node)
  node.emit({ type: 'task.failed', id: '1', name: 'x', worker: 1, duration: 7, error: 'no', dead: undefined })
  const text = metrics.text(node.stats())
  expect(text.endsWith('\n')).toBe(true)
  const announced = new Set<string>()
  for (const line of text.trimEnd().split('\n')) {
    expect(line).toMatch(LINE)
    const type = /^# TYPE (\S+)/.exec(line)?.[1]
    if (type !== undefined) {
      expect(announced).not.toContain(type)
      announced.add(type)
    } else if (!line.startsWith('#')) expect(announced).toContain(/^[a-z_]+?(?=(_bucket|_sum|_count)?[ {])/.exec(line)![0])
  }
  expect(text).toContain('node="a \\"quoted\\" \\\\ node\\n"')
  expect(text).not.toContain('prefork_queue_depth')
})

test('a job over its time limit is one run, one that never began is none', () => {
  const metrics = new Metrics()
  const node = new ScriptedNode()
  metrics.watch(node)
  const about = { name: 'x', worker: 1, duration: 7 }
  const failed = { type: 'task.failed', error: 'no', dead: 'failed' } as const
  const again = { type: 'task.retried', delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, error: 'no' } as const
  node.emit({ ...about, type: 'task.hard_timeout', id: 'a' })
  node.emit({ ...about, ...failed, id: 'a' })
  node.emit({ ...about, ...failed, id: 'b', worker: undefined, duration: 0 })
  const counts = (): string[] => metrics.text(node.stats()).match(/seconds_count.*/g) ?? []
  expect(counts()).toEqual(['seconds_count{task="x",outcome="hard_timeout"} 1'])
  // A retry after a timeout may fail in another way.
  node.emit({ ...about, type: 'task.hard_timeout', id: 'c' })
  node.emit({ ...about, ...again, id: 'c' })
  node.emit({ ...about, ...failed, id: 'c' })
  expect(counts()).toEqual(['seconds_count{task="x",outcome="hard_timeout"} 2', 'seconds_count{task="x",outcome="failure"} 1'])
})

test('retried, revoked and lost runs are counted once each', () => {
  const metrics = new Metrics()
  const node = new ScriptedNode()
  metrics.watch(node)
  const [ran, notNow] = [
    { name: 'x', worker: 1, duration: 7 },
    { name: 'x', worker: undefined, duration: 0 },
  ]
  const again = { type: 'task.retried', delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, error: 'no' } as const
  const lost = { type: 'task.lost', reason: 'SIGKILL', losses: 1 } as const
  node.emit({ ...ran, ...again, id: 'a' })
  node.emit({ ...ran, type: 'task.revoked', id: 'a' })
  node.emit({ ...notNow, type: 'task.revoked', id: 'b' })
  node.emit({ ...ran, ...lost, id: 'c' })
  node.emit({ ...ran, ...lost, id: 'd' })
  // The outcomes of the two: neither is another run, also with other events in between.
  node.emit({ ...notNow, ...again, id: 'c' })
  node.emit({ ...ran, type: 'task.failed', error: 'no', dead: 'lost', id: 'd' })
  expect(metrics.text(node.stats()).match(/seconds_count.*/g)).toEqual([
    'seconds_count{task="x",outcome="retried"} 1',
    'seconds_count{task="x",outcome="revoked"} 1',
    'seconds_count{task="x",outcome="lost"} 2',
  ])
})

test('buckets add up', () => {
  const metrics = new Metrics()
  const node = new ScriptedNode()
  metrics.watch(node)
  for (const duration of [5, 6, 4_000, 1e7]) node.emit({ type: 'task.succeeded', id: '1', name: 'x', worker: 1, duration })
  const text = metrics.text(node.stats())
  const bucket = (le: string): number => Number(new RegExp(`_bucket\\{task="x",outcome="success",le="${le.replace('+', '\\+')}"\\} (\\d+)`).exec(text)![1])
  expect(['0.005', '0.01', '2.5', '5', '1800', '+Inf'].map(bucket)).toEqual([1, 2, 2, 3, 3, 4])
  expect(text).toContain('prefork_task_duration_seconds_count{task="x",outcome="success"} 4')
  expect(text).toContain('prefork_task_duration_seconds_sum{task="x",outcome="success"} 10004.011')
})

test('the number of series is bounded, whatever names messages have', () => {
  const metrics = new Metrics()
  const node = new ScriptedNode()
  metrics.watch(node)
  for (let i = 0; i < 1_000; i++) node.emit({ type: 'task.succeeded', id: '1', name: `task${i}`, worker: 1, duration: 1 })
  const text = metrics.text(node.stats())
  expect(text.split('_count{').length - 1).toBe(201)
  expect(text).toContain('_count{task="(other)",outcome="success"} 800')
})

test.each([
  [{}, 200, 200],
  [{ state: 'paused' }, 200, 503],
  [{ state: 'quiet' }, 200, 503],
  [{ state: 'draining' }, 200, 503],
  [{ state: 'stopped' }, 503, 503],
  [{ connected: false }, 200, 503],
  [{ scale: { min: 1, max: 2, wanted: 1, alive: 0, auto: true } }, 200, 503],
  [{ scale: { min: 0, max: 2, wanted: 0, alive: 0, auto: true } }, 200, 200],
] as const)('%o: alive %i, ready %i', (change, alive, ready) => {
  const stats = scriptedStats(change)
  expect(liveness(stats).ok).toBe(alive === 200)
  expect(readiness(stats).ok).toBe(ready === 200)
})
