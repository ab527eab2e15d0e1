import { describe, expect, it } from 'vitest'
import { isFarmEvent, isNodeSnapshot, isNodeStats } from '../../../src/runtime/report/read-report.js'
import type { FarmEvent, FarmEventBody } from '../../../src/runtime/report/report.js'
import { scriptedStats, scriptedTask, scriptedWorker } from '../../fixtures/scripted-node.js'

const counts = { attempt: 1, losses: 0, requeues: 0 }
const job = { id: 'a', name: 'mail' }
const bodies: FarmEventBody[] = [
  { type: 'node.up', pid: 1, host: 'h', version: '1', queues: ['q'], tasks: ['mail'] },
  { type: 'node.heartbeat', stats: scriptedStats() },
  { type: 'node.heartbeat', stats: scriptedStats({ depth: undefined, workers: [scriptedWorker({ pid: undefined })] }) },
  { type: 'node.down', reason: 'r' },
  { type: 'worker.up', worker: 1, pid: 2 },
  { type: 'worker.exit', worker: 1, pid: undefined, reason: 'r', expected: true, jobs: ['a'] },
  { type: 'task.received', ...job, queue: 'q', counts },
  { type: 'task.started', ...job, worker: 1, attempt: 1 },
  { type: 'task.succeeded', ...job, worker: 1, duration: 5 },
  { type: 'task.failed', ...job, worker: undefined, duration: 5, error: 'e', dead: 'failed' },
  { type: 'task.retried', ...job, worker: 1, duration: 5, delay: 5, counts, error: 'e' },
  { type: 'task.revoked', ...job, worker: undefined, duration: 0 },
  { type: 'task.lost', ...job, worker: 1, duration: 5, reason: 'r', losses: 1 },
  { type: 'task.soft_timeout', ...job, worker: 1, duration: 5 },
  { type: 'task.hard_timeout', ...job, worker: 1, duration: 5 },
]
const whole = bodies.map((body): FarmEvent => ({ ...body, node: 'n', at: 1 }))
/** The value as a message carries it. */
const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** All copies of the value in which one part has another type. */
function* damaged(value: unknown): Generator<unknown> {
  for (const wrong of [7, 'text', null, {}, [null], true]) if (typeof wrong !== typeof value || wrong === null) yield wrong
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value)) {
    for (const other of damaged(part)) {
      const copy = structuredClone(value) as Record<string, unknown>
      copy[key] = other
      yield copy
    }
  }
}

describe('isFarmEvent', () => {
  it.each(whole.map((event) => [event.type, event]))('accepts %s', (_, event) => {
    expect(isFarmEvent(sent(event))).toBe(true)
    expect(isFarmEvent({ ...(event as object), later: 'addition' })).toBe(true)
  })

  it.each([
    ['of no known type', { ...whole[3], type: 'task.paused' }],
    ['of a type that every object has', { ...whole[3], type: 'constructor' }],
    ['without a node', { ...whole[3], node: undefined }],
    ['of a time that no clock shows', { ...whole[3], at: 1e300 }],
    ['with a count missing', { ...whole[6], counts: { attempt: 1, losses: 0 } }],
    ['with a worker that is none', { ...whole[1], stats: { ...scriptedStats(), workers: [null] } }],
    ['that is a list', [whole[3]]],
    ['that is null', null],
  ])('%s does not', (_, event) => {
    expect(isFarmEvent(event)).toBe(false)
  })
})

it('isNodeStats and isNodeSnapshot accept valid values and refuse each in which a displayed part has another type', () => {
  const stats = scriptedStats()
  const snapshot = { stats, tasks: [scriptedTask({ started: 5, ended: 6, duration: 1, error: 'e', logs: [{ time: 1, stream: 'stdout', text: 't' }] })] }
  expect(isNodeStats(sent(stats))).toBe(true)
  expect(isNodeSnapshot(sent(snapshot))).toBe(true)
  const { tasks } = snapshot
  for (const wrong of damaged(tasks[0])) expect(isNodeSnapshot({ stats, tasks: [wrong] }), JSON.stringify(wrong)).toBe(false)
  for (const name of ['pid', 'host', 'version', 'state', 'queues'] as const) {
    for (const wrong of damaged(stats[name])) expect(isNodeStats({ ...stats, [name]: wrong }), `${name}: ${JSON.stringify(wrong)}`).toBe(false)
    const { [name]: _, ...without } = stats
    expect(isNodeStats(without), `without ${name}`).toBe(false)
  }
  for (const wrong of damaged(stats.scale)) expect(isNodeStats({ ...stats, scale: wrong }), JSON.stringify(wrong)).toBe(false)
  for (const wrong of damaged(stats.workers[0])) expect(isNodeStats({ ...stats, workers: [wrong] }), JSON.stringify(wrong)).toBe(false)
})
