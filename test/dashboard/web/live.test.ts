/** What the page reads, and what becomes of what it asks for. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { RemoteSource } from '../../../src/dashboard/model/farm-source.js'
import { MAX_CLIENTS } from '../../../src/dashboard/web/live-clients.js'
import { controlClientOf, ScriptedNode, scriptedTask, scriptedWorker } from '../../fixtures/scripted-node.js'
import { until } from '../../fixtures/until.js'
import { letterOf, serve } from './served.js'

interface State {
  title: string
  connected: boolean
  totals: { jobs: { succeeded: number } }
  nodes: { name: string; state?: string; heard?: boolean; gone?: string; rate?: number; silentFor?: number }[]
  nodesFound: number
  workers: { found: number; shown: { id: number }[] }
  tasks: { found: number; shown: { id: string; status: string; error?: string }[] }
}

const states = ({ events }: { events: [string, never][] }): State[] => events.flatMap(([type, data]) => (type === 'state' ? [data as State] : []))

test('a stream begins with the history and the state, and goes on with what changes', async () => {
  const { watch, node } = await serve()
  node.tasks = [scriptedTask()]
  const stream = await watch()
  await until('the first state', () => states(stream).length > 0)
  expect(stream.events[0]![0]).toBe('history')
  expect(stream.events[0]![1]).toHaveLength(120)
  expect(states(stream)[0]).toMatchObject({ title: 'amqp://test', totals: { jobs: { succeeded: 100 } }, nodes: [{ name: 'alpha', state: 'running' }] })
  expect(states(stream)[0]!.workers.shown.map(({ id }) => id)).toEqual([1, 2])
  node.figures = { ...node.figures, state: 'paused' }
  node.emit({ type: 'task.received', id: 'new', name: 'mail', queue: 'q', counts: { attempt: 1, losses: 0, requeues: 0 } })
  await until('the change', () => states(stream).some(({ nodes }) => nodes[0]!.state === 'paused'))
  await until('the job', () =>
    states(stream)
      .at(-1)!
      .tasks.shown.some(({ id }) => id === 'new'),
  )
})

test('a node that has ended is shown with its reason, beside those that are there', async () => {
  const [alpha, beta] = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  const { watch } = await serve({ source: new RemoteSource(controlClientOf(alpha, beta)) })
  const stream = await watch()
  await until('both', () => states(stream).at(-1)?.nodes.length === 2)
  beta.emit({ type: 'node.down', reason: 'SIGTERM' })
  const { nodes, workers } = await until('the end', () => states(stream).find((state) => state.nodes[1]?.gone !== undefined))
  expect(nodes).toMatchObject([
    { name: 'alpha', state: 'running' },
    { name: 'beta', gone: 'SIGTERM' },
  ])
  expect(workers.found).toBe(2)
})

test('a server that has lost its own connection says so, and calls no node gone', async () => {
  let connected = true
  const node = new ScriptedNode()
  const { watch } = await serve({ source: new RemoteSource(Object.defineProperty(controlClientOf(node), 'connected', { get: () => connected })) })
  const stream = await watch()
  await until('the node', () => states(stream).at(-1)?.nodes[0]?.rate !== undefined)
  expect(states(stream).at(-1)).toMatchObject({ connected: true, nodes: [{ heard: true }] })
  connected = false
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 16_000)
  const { nodes } = await until('the loss', () => states(stream).find((state) => !state.connected))
  expect(nodes[0]).toMatchObject({ heard: false })
  expect(nodes[0]).not.toHaveProperty('gone')
  expect(nodes[0]).not.toHaveProperty('rate')
})

test('a hundred nodes are sent, and the chosen one; how many there are; the rate of one that is silent is none', async () => {
  const nodes = Array.from({ length: 120 }, (_, i) => new ScriptedNode({ node: `node-${String(i).padStart(3, '0')}` }))
  const { watch } = await serve({ source: new RemoteSource(controlClientOf(...nodes)) })
  const stream = await watch('node=node-110')
  const { nodes: sent, nodesFound } = await until('all nodes', () => states(stream).find((state) => state.nodesFound === 120))
  expect([sent.length, sent.at(-1)!.name, nodesFound]).toEqual([101, 'node-110', 120])
  expect(sent[0]!.rate).toBe(0)
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 6_000)
  onTestFinished(() => void vi.restoreAllMocks())
  const silent = await until('the silence', () => states(stream).find((state) => state.nodes[0]!.silentFor !== undefined))
  expect(silent.nodes[0]!.rate).toBeUndefined()
})

test('a stream shows the jobs that its filter finds, in its order, of its node, and at most a hundred of them', async () => {
  const node = new ScriptedNode()
  node.tasks = [
    ...Array.from({ length: 150 }, (_, i) => scriptedTask({ id: `ok-${i}`, status: 'success', ended: 10 + i })),
    scriptedTask({ id: 'bad', name: 'mail', status: 'failure', error: `Error: ${'x'.repeat(1_000)}` }),
  ]
  const { watch } = await serve({ node })
  const seen = async (query: string): Promise<State> => {
    const stream = await watch(query)
    return await until(`the jobs of '${query}'`, () => states(stream).find(({ tasks }) => tasks.found > 0))
  }
  const all = await seen('')
  expect([all.tasks.found, all.tasks.shown.length]).toEqual([151, 100])
  const failed = await seen('filter=state:failed')
  expect(failed.tasks.shown.map(({ id }) => id)).toEqual(['bad'])
  expect(failed.tasks.shown[0]!.error).toHaveLength(301)
  expect((await seen('order=task')).tasks.shown[0]!.id).toBe('bad')
  expect((await seen('node=alpha')).tasks.found).toBe(151)
  const none = await watch('node=beta')
  await until('a state', () => states(none).length > 0)
  expect(states(none)[0]).toMatchObject({ tasks: { found: 0 }, workers: { found: 0 }, nodes: [{ name: 'alpha' }] })
  await expect(watch('node=%ff&filter=%')).resolves.toMatchObject({ status: 200 })
})

test('so many streams and no more; one that ends makes room', async () => {
  const { watch } = await serve()
  const open = []
  for (let i = 0; i < MAX_CLIENTS; i++) open.push(await watch())
  expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
  expect((await watch()).status).toBe(503)
  open[0]!.end()
  await until('room', async () => (await watch()).status === 200)
})

test('a browser that does not read gets newer states later, and none is stored for it', async () => {
  const node = new ScriptedNode({ workers: Array.from({ length: 200 }, (_, id) => scriptedWorker({ id, state: 'x'.repeat(5_000) })) })
  const { watch, responses } = await serve({ node })
  const slow = await watch()
  const fast = await watch()
  const stored = responses.find((response) => !response.writableEnded)!
  await until('the first state', () => states(slow).length > 0 && states(fast).length > 0)
  slow.pause()
  await until('the buffers of the system are full', () => stored.writableNeedDrain)
  const size = stored.writableLength
  const before = states(fast).length
  await until('four states for the other', () => states(fast).length >= before + 4)
  expect(stored.writableLength).toBeLessThanOrEqual(size)
})

test('commands reach the node, and are reported; a refusal has its reason', async () => {
  const { post, node, reported } = await serve()
  node.answers.grow = { wanted: 3 }
  node.answers.stack = { worker: 1, stack: '    at spin (tasks.js:1:1)' }
  node.answers.restart = new Error('it is draining')
  expect(await post('command', { node: 'alpha', command: { command: 'grow', by: 1 } })).toEqual({ status: 200, value: { wanted: 3 } })
  expect(await post('command', { node: 'alpha', command: { command: 'stack', worker: 1 } })).toMatchObject({ value: { stack: '    at spin (tasks.js:1:1)' } })
  expect(await post('command', { node: 'alpha', command: { command: 'restart' } })).toEqual({ status: 502, error: 'it is draining' })
  expect(await post('command', { node: 'alpha', command: { command: 'revoke', id: 'job-a', terminate: true } })).toMatchObject({ status: 200 })
  expect(node.asked.filter(({ command }) => command !== 'snapshot').map(({ command }) => command)).toEqual(['grow', 'stack', 'restart', 'revoke'])
  expect(reported).toEqual(['alpha: {"command":"grow","by":1}', 'alpha: {"command":"restart"}', 'alpha: {"command":"revoke","id":"job-a","terminate":true}'])
})

test('a profile comes with its heaviest calls, and is no change', async () => {
  const { post, node, reported } = await serve()
  const frame = (functionName: string) => ({ functionName, scriptId: '1', url: 'file:///tasks.js', lineNumber: 2, columnNumber: 0 })
  const nodes = [
    { id: 1, callFrame: { ...frame('(root)'), url: '' }, hitCount: 0, children: [2] },
    { id: 2, callFrame: frame('spin'), hitCount: 3 },
  ]
  const profile = { nodes, startTime: 0, endTime: 3_000, samples: [2, 2, 2], timeDeltas: [1_000, 1_000, 1_000] }
  node.answers.profile = { worker: 1, profile }
  const { value } = await post('command', { node: 'alpha', command: { command: 'profile', worker: 1, ms: 3 } })
  expect(value).toMatchObject({ profile, summary: { samples: 3, calls: [{ name: 'spin', total: { share: 1 } }] } })
  node.answers.profile = { worker: 1 }
  expect(await post('command', { node: 'alpha', command: { command: 'profile', worker: 1 } })).toMatchObject({ status: 502 })
  expect(reported).toEqual([])
})

test('a job has its arguments, stack and log', async () => {
  const { post, node } = await serve()
  node.tasks = [scriptedTask({ arguments: '["<b>"]', stack: 'Error: no\n    at x', logs: [{ time: 1, stream: 'stdout', text: '<script>' }] })]
  expect(await post('job', { node: 'alpha', id: 'job-a' })).toMatchObject({
    value: { arguments: '["<b>"]', stack: expect.stringMatching(/at x/), logs: [{ text: '<script>' }] },
  })
  expect(await post('job', { node: 'alpha', id: 'none' })).toEqual({ status: 200, value: null })
})

test('dead letters are read, filtered, and retried one by one or as the filter finds them', async () => {
  const letters = [letterOf(), letterOf({ id: 'dead-2', task: 'resize' }), letterOf({ id: 'dead-3', task: 'resize' })]
  const { post, dead, reported } = await serve({ letters })
  expect(await post('dead', {})).toMatchObject({ value: { found: 3, cut: false, shown: [{ id: 'dead-1', stack: expect.stringMatching(/at mail/) }, {}, {}] } })
  expect(await post('dead', { filter: 'task:resize' })).toMatchObject({ value: { found: 2 } })
  expect(await post('retry', { queue: 'async_farm.jobs', id: 'dead-1' })).toEqual({ status: 200, value: { sent: 1 } })
  expect(await post('retry', { queue: 'async_farm.jobs', id: 'dead-1' })).toEqual({ status: 200, value: { sent: 0 } })
  expect(await post('retry', { filter: 'dead-3' })).toEqual({ status: 200, value: { sent: 1 } })
  expect(await post('retry', { filter: '' })).toEqual({ status: 200, value: { sent: 1 } })
  expect(await post('retry', {})).toMatchObject({ status: 400 })
  expect(await post('retry', { queue: 'q', id: 'x\n2026-11-25 alpha: {"command":"pause"}' })).toMatchObject({ status: 200 })
  expect(dead.retried.slice(0, 4)).toEqual([['dead-1'], ['dead-1'], ['dead-3'], 'all'])
  expect(reported).toHaveLength(5)
  expect(reported.join()).not.toContain('\n')
})

test('those that a filter finds are retried, also when the server was started after they were read', async () => {
  const { post, dead } = await serve({ letters: [letterOf(), letterOf({ id: 'dead-2', task: 'resize' })] })
  expect(await post('retry', { filter: 'task:resize' })).toEqual({ status: 200, value: { sent: 1 } })
  expect(dead.retried).toEqual([['dead-2']])
})

test('before the node is up there is the page, and no data; afterwards streams end with the dashboard', async () => {
  const { ask, watch, dashboard, open } = await serve({ opened: false })
  expect((await ask('/')).status).toBe(200)
  expect((await watch()).status).toBe(503)
  await open()
  const stream = await watch()
  expect(stream.status).toBe(200)
  await dashboard.close()
  await stream.ended
})
