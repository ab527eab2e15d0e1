import { expect, it } from 'vitest'
import { summarizeProfile } from '../../../src/runtime/report/profile-summary.js'
import type { CpuProfile, CpuProfileNode } from '../../../src/wire/cpu-profile.js'

const node = (id: number, functionName: string, url: string, hitCount: number, children?: number[]): CpuProfileNode => ({
  id,
  callFrame: { functionName, scriptId: '1', url, lineNumber: url === '' ? -1 : id, columnNumber: 0 },
  hitCount,
  ...(children === undefined ? {} : { children }),
})

const profileOf = (...nodes: CpuProfileNode[]): CpuProfile => ({ nodes, samples: [], timeDeltas: [], startTime: 1_000, endTime: 101_000 })

const TASKS = 'file:///app/my%20tasks.js'
const OWN = 'file:///app/node_modules/prefork/dist/worker/main.cjs'

/** Node → prefork → resize (10) → decode (50) → native (20); resize → resize (5); idle 10; prefork alone 5. */
const profile = profileOf(
  node(1, '(root)', '', 0, [2, 8]),
  node(2, 'onStreamRead', 'node:internal/stream_base_commons', 0, [3]),
  node(3, '#run', OWN, 5, [4]),
  node(4, 'resize', TASKS, 10, [5, 7]),
  node(5, 'decode', 'node:zlib', 50, [6]),
  node(6, 'inflate', '', 20),
  { ...node(7, 'resize', TASKS, 5), callFrame: node(4, 'resize', TASKS, 0).callFrame },
  node(8, '(idle)', '', 10),
)

it('is the tree of the calls of tasks, heaviest first', () => {
  const { calls, duration, samples, idle } = summarizeProfile(profile)
  expect({ duration, samples, idle }).toEqual({ duration: 100, samples: 100, idle: 0.1 })
  expect(calls.map(({ depth, name, place, self, total }) => [depth, name, place, self.ms, total.share])).toEqual([
    [0, 'resize', '/app/my tasks.js:5', 15, 0.85],
    [1, 'decode', 'node:zlib:6', 50, 0.7],
    [2, 'inflate', '', 20, 0.2],
    [0, '(idle)', '', 10, 0.1],
    [0, '(Node and prefork)', '', 5, 0.05],
  ])
})

it('has the functions with the most time of their own', () => {
  expect(summarizeProfile(profile).functions.map(({ name, self, total }) => [name, self.share, total.share])).toEqual([
    ['decode', 0.5, 0.7],
    ['inflate', 0.2, 0.2],
    ['resize', 0.15, 0.85],
    ['(idle)', 0.1, 0.1],
    ['(Node and prefork)', 0.05, 0.05],
  ])
})

it('counts what a function calls within itself once', () => {
  const mutual = profileOf(node(1, '(root)', '', 0, [2]), node(2, 'a', TASKS, 1, [3]), node(3, 'b', TASKS, 1, [4]), {
    ...node(4, 'a', TASKS, 2),
    callFrame: node(2, 'a', TASKS, 0).callFrame,
  })
  expect(summarizeProfile(mutual).functions.map(({ name, self, total }) => [name, self.share, total.share])).toEqual([
    ['a', 0.75, 1],
    ['b', 0.25, 0.75],
  ])
})

it('keeps the heaviest calls within the limit, never one without its caller', () => {
  const { calls } = summarizeProfile(profile, { limit: 2 })
  expect(calls.map(({ name }) => name)).toEqual(['resize', 'decode'])
})

it('is empty where nothing was sampled, and ends where the nodes are no tree', () => {
  expect(summarizeProfile(profileOf())).toMatchObject({ samples: 0, idle: 0, calls: [], functions: [] })
  expect(summarizeProfile(profileOf(node(1, '(root)', '', 0, [2, 99]), node(2, 'a', TASKS, 1, [1, 2])))).toMatchObject({ samples: 1, calls: [{ name: 'a' }] })
})
