import { renderToString } from 'ink'
import stringWidth from 'string-width'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Controller } from '../../src/dashboard/controller.js'
import { press } from '../../src/dashboard/keys.js'
import { LocalSource, RemoteSource } from '../../src/dashboard/model/farm-source.js'
import { LogTail } from '../../src/dashboard/model/log-tail.js'
import { Screen } from '../../src/dashboard/view/screen.js'
import { controlClientOf, ScriptedNode, scriptedStats, scriptedTask, scriptedWorker } from '../fixtures/scripted-node.js'

const NOW = 1_700_000_003_000

beforeEach(() => {
  vi.spyOn(Date, 'now').mockReturnValue(NOW)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const shown = (controller: Controller, columns = 80, rows = 24): string =>
  renderToString(<Screen controller={controller} size={{ columns, rows }} />, { columns })

/** An open dashboard of a scripted node, with its earlier jobs in the list. */
const openOver = async (node: ScriptedNode, more: Partial<ConstructorParameters<typeof Controller>[0]> = {}) => {
  const quits: number[] = []
  const source = new LocalSource(node)
  const controller = new Controller({ source, node: node.name, onQuit: () => quits.push(1), ...more })
  await controller.open()
  await vi.waitFor(() => expect(node.asked).toContainEqual({ command: 'snapshot' }))
  return { controller, quits, close: () => source.close() }
}

test('a frame of 80x24 has the workers, their tasks, the queue, the jobs and the keys', async () => {
  const node = new ScriptedNode()
  node.tasks = [scriptedTask({ id: 'job-0', name: 'mail', status: 'success', ended: 1, duration: 42 }), scriptedTask()]
  const { controller, close } = await openOver(node)
  const picture = shown(controller)
  expect(picture).toMatch(/prefork alpha running +up 1m 03s {2}60 MB/)
  expect(picture).toMatch(/queue 12 {2}held 3\/20 {2}running 2/)
  expect(picture).toMatch(/done 100 {2}failed 3 {2}retried 2 {2}lost 1/)
  expect(picture).toMatch(/1 \(4711\) +busy +resize job-a +1\.5 s +61 MB +60 +0/)
  expect(picture).toMatch(/running +resize +job-a +1 +1 .* 3\.0 s/)
  expect(picture).toMatch(/success +mail +job-0 .* 42 ms/)
  expect(picture).toMatch(/p pause.*q quit/)
  await close()
})

test.each([
  [80, 24, 2, 5],
  [80, 24, 40, 300],
  [80, 24, 0, 0],
  [100, 50, 12, 100],
  [60, 14, 9, 9],
])('%i x %i with %i workers and %i jobs: no line is too long, and there are not too many', async (columns, rows, workers, tasks) => {
  const node = new ScriptedNode({
    workers: Array.from({ length: workers }, (_, i) =>
      scriptedWorker({ id: i, job: { id: 'x'.repeat(90), name: '画像を縮小する'.repeat(5), age: 1e9, attempt: 1 } }),
    ),
  })
  node.tasks = Array.from({ length: tasks }, (_, i) => scriptedTask({ id: `job-${i}`, error: 'line one\nline \x1b[2Jtwo', status: 'failure' }))
  const { controller, close } = await openOver(node)
  for (const key of ['', '?', 't']) {
    press(controller, { input: key })
    const lines = shown(controller, columns, rows).split('\n')
    expect(lines.length).toBeLessThan(rows)
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns)
    expect(lines.join('')).not.toContain('\x1b[2J')
    press(controller, { input: '', name: 'escape' })
  }
  await close()
})

test.each([
  ['p', 'running', { command: 'pause' }],
  ['p', 'paused', { command: 'resume' }],
  ['p', 'quiet', { command: 'resume' }],
  ['+', 'running', { command: 'grow', by: 1 }],
  ['-', 'running', { command: 'shrink', by: 1 }],
  ['s', 'running', { command: 'snapshot' }],
  ['t', 'running', { command: 'stack', worker: 1 }],
] as const)('%s on a node that is %s', async (input, state, command) => {
  const node = new ScriptedNode({ state })
  const { controller, close } = await openOver(node)
  node.asked.length = 0
  press(controller, { input })
  expect(node.asked).toEqual([command])
  await close()
})

test.each([
  ['a number', 7],
  ['tasks that are none', { stats: scriptedStats(), tasks: [null] }],
  ['stats of another make', { stats: { node: 'alpha' }, tasks: [] }],
])('a snapshot of %s gives a notice, and changes nothing else', async (_, snapshot) => {
  const node = new ScriptedNode()
  node.answers = { snapshot }
  node.tasks = [scriptedTask()]
  const { controller, close } = await openOver(node)
  press(controller, { input: 's' })
  await vi.waitFor(() => expect(shown(controller)).toContain('snapshot: the answer is not what this version reads'))
  expect(shown(controller)).toContain('queue 12')
  await close()
})

test('statistics of another shape are ignored', async () => {
  const [other, good] = [new ScriptedNode({ node: 'other' }), new ScriptedNode({ node: 'good' })]
  other.answers = { stats: { node: 'other', workers: {} } }
  const source = new RemoteSource(controlClientOf(other, good))
  const controller = new Controller({ source, onQuit() {} })
  await controller.open()
  await vi.waitFor(() => expect(controller.nodes().map(({ name }) => name)).toEqual(['good']))
  await source.close()
})

test('a restart is confirmed first', async () => {
  const node = new ScriptedNode()
  const { controller, close } = await openOver(node)
  press(controller, { input: 'r' })
  expect(shown(controller)).toContain('Restart the workers, one after another? y / n')
  press(controller, { input: 'n' })
  expect(node.asked).not.toContainEqual({ command: 'restart' })
  press(controller, { input: 'r' })
  press(controller, { input: 'y' })
  expect(node.asked).toContainEqual({ command: 'restart' })
  await vi.waitFor(() => expect(shown(controller)).toContain('restart: done'))
  await close()
})

test('the chosen job is revoked, and ended if it runs', async () => {
  const node = new ScriptedNode()
  node.tasks = [scriptedTask({ id: 'waits', status: 'pending', started: undefined }), scriptedTask({ id: 'runs' })]
  const { controller, close } = await openOver(node)
  press(controller, { input: 'x' })
  expect(shown(controller)).toContain('Choose a task first')
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: 'x' })
  expect(shown(controller)).toContain('End resize runs? y / n')
  press(controller, { input: 'y' })
  expect(node.asked).toContainEqual({ command: 'revoke', id: 'runs', terminate: true })
  press(controller, { input: '', name: 'down' })
  press(controller, { input: 'x' })
  press(controller, { input: 'y' })
  expect(node.asked).toContainEqual({ command: 'revoke', id: 'waits', terminate: false })
  await close()
})

test("a job's log and a worker's stack replace the tables; Esc goes back", async () => {
  const node = new ScriptedNode()
  node.tasks = [
    scriptedTask({
      logs: [
        { time: NOW, stream: 'stdout', text: 'reading 12 images' },
        { time: NOW, stream: 'stderr', text: 'one is broken' },
      ],
    }),
  ]
  node.answers.stack = 'spin (/app/tasks.js:12:3)\nrun (/app/tasks.js:2:1)'
  const { controller, close } = await openOver(node)
  press(controller, { input: '', name: 'enter' })
  await vi.waitFor(() => expect(shown(controller)).toContain('spin (/app/tasks.js:12:3)'))
  expect(shown(controller)).toContain('Worker 1 executes')
  press(controller, { input: '', name: 'escape' })
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: '', name: 'enter' })
  const picture = shown(controller)
  expect(picture).toContain('reading 12 images')
  expect(picture).toContain('stderr one is broken')
  expect(picture).toContain('attempt 1, losses 0')
  press(controller, { input: 'q' })
  expect(shown(controller)).toContain('q quit')
  await close()
})

test('the refusal of a node is shown', async () => {
  const node = new ScriptedNode()
  node.answers.grow = new Error('10 workers are the most')
  const { controller, close } = await openOver(node)
  press(controller, { input: '+' })
  await vi.waitFor(() => expect(shown(controller)).toContain('grow: 10 workers are the most'))
  await close()
})

test('q asks before it stops a node; Ctrl-C does not', async () => {
  const { controller, quits, close } = await openOver(new ScriptedNode(), { quitQuestion: 'Drain and stop this node?' })
  press(controller, { input: 'q' })
  expect(quits).toHaveLength(0)
  expect(shown(controller)).toContain('Drain and stop this node? y / n')
  press(controller, { input: 'y' })
  expect(quits).toHaveLength(1)
  press(controller, { input: 'c', ctrl: true })
  expect(quits).toHaveLength(2)
  await close()
})

test('a stuck worker, a lost connection and a node that is down are marked', async () => {
  const node = new ScriptedNode({ connected: false, workers: [scriptedWorker({ stalled: 12_000 })] })
  const { controller, close } = await openOver(node)
  expect(shown(controller)).toContain('no broker!')
  expect(shown(controller)).toContain('stuck 12.0 s')
  node.emit({ type: 'node.down', reason: 'SIGTERM' })
  expect(shown(controller)).toContain('down (SIGTERM)')
  await close()
})

test('the log of the node of this process', async () => {
  const log = new LogTail()
  const { controller, close } = await openOver(new ScriptedNode(), { log })
  log.write('{"level":40,"time":1700000000000,"msg":"the broker is away","attempt":3}\n')
  press(controller, { input: 'l' })
  expect(shown(controller)).toMatch(/WARN {2}the broker is away attempt=3/)
  await close()
})

test('remote nodes: those that are up appear at once, others with their first event; n shows the next', async () => {
  const [alpha, beta] = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  const source = new RemoteSource(controlClientOf(alpha, beta))
  const controller = new Controller({ source, onQuit() {} })
  expect(shown(controller)).toContain('No node has reported yet')
  await controller.open()
  await vi.waitFor(() => expect(shown(controller)).toMatch(/prefork alpha .*2 nodes/))
  press(controller, { input: 'n' })
  expect(shown(controller)).toContain('prefork beta')
  press(controller, { input: '+' })
  await vi.waitFor(() => expect(beta.asked).toContainEqual({ command: 'grow', by: 1 }))
  expect(alpha.asked).not.toContainEqual({ command: 'grow', by: 1 })
  alpha.emit({ type: 'node.heartbeat', stats: scriptedStats({ depth: 777 }) })
  press(controller, { input: 'n' })
  expect(shown(controller)).toContain('queue 777')
  await source.close()
  expect(alpha.listening).toBe(0)
})
