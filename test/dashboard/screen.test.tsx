import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { renderToString } from 'ink'
import stringWidth from 'string-width'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Controller } from '../../src/dashboard/controller.js'
import { press } from '../../src/dashboard/keys.js'
import type { DeadLetterRecord, DeadLetters } from '../../src/dashboard/model/dead-letters.js'
import { LocalSource, RemoteSource } from '../../src/dashboard/model/farm-source.js'
import { LogTail } from '../../src/dashboard/model/log-tail.js'
import { Screen } from '../../src/dashboard/view/screen.js'
import type { ControlClient } from '../../src/node/broker.js'
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
  const controller = new Controller({ source, node: node.name, only: true, onQuit: () => quits.push(1), ...more })
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
  expect(picture).toMatch(/p profile.*q quit/)
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
  ['P', 'running', { command: 'pause' }],
  ['P', 'paused', { command: 'resume' }],
  ['P', 'quiet', { command: 'resume' }],
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
  await vi.waitFor(() => expect(controller.nodes.map(({ name }) => name)).toEqual(['good']))
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
  // It has begun meanwhile.
  node.answers.revoke = { id: 'waits', outcome: 'running' }
  const { controller, close } = await openOver(node)
  press(controller, { input: 'x' })
  expect(shown(controller)).toContain('Choose a job first')
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: 'x' })
  expect(shown(controller)).toContain('End resize runs? y / n')
  press(controller, { input: 'y' })
  expect(node.asked).toContainEqual({ command: 'revoke', id: 'runs', terminate: true })
  press(controller, { input: '', name: 'down' })
  press(controller, { input: 'x' })
  press(controller, { input: 'y' })
  expect(node.asked).toContainEqual({ command: 'revoke', id: 'waits', terminate: false })
  await vi.waitFor(() => expect(shown(controller)).toContain('revoke: running'))
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

test('a name of wide characters leaves room for the rest of its line', async () => {
  const { controller, close } = await openOver(new ScriptedNode({ node: '画像を縮小する節点' }))
  expect(shown(controller, 60)).toMatch(/prefork 画像を縮小する節点 running +up 1m 03s {2}60 MB/)
  await close()
})

test('a stuck worker, a lost connection and a node that is down are marked', async () => {
  const node = new ScriptedNode({ connected: false, workers: [scriptedWorker({ stalled: 12_000 })] })
  const { controller, close } = await openOver(node)
  expect(shown(controller)).toContain('no broker!')
  expect(shown(controller)).toContain('stuck 12.0 s')
  node.emit({ type: 'node.down', reason: 'SIGTERM' })
  expect(shown(controller)).toContain('gone (SIGTERM)')
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

const openOn = async (nodes: readonly ScriptedNode[], more: Partial<ConstructorParameters<typeof Controller>[0]> = {}) => {
  const source = more.source ?? new RemoteSource(controlClientOf(...nodes))
  const controller = new Controller({ onQuit() {}, ...more, source })
  await controller.open()
  await vi.waitFor(() => expect(controller.nodes.map(({ name }) => name)).toEqual(nodes.map(({ name }) => name).sort()))
  return { controller, close: () => source.close() }
}

const type = (controller: Controller, text: string): void => {
  for (const input of text) press(controller, { input })
}

test('remote nodes: all together first, those that are up at once, others with their first event; Enter shows one, Esc all', async () => {
  const [alpha, beta] = [new ScriptedNode(), new ScriptedNode({ node: 'beta', depth: 3, queues: ['other'] })]
  alpha.tasks = [scriptedTask({ id: 'of-alpha' })]
  beta.tasks = [scriptedTask({ id: 'of-beta', status: 'failure', error: 'Error: no', ended: 1 })]
  const source = new RemoteSource(controlClientOf(alpha, beta))
  const controller = new Controller({ source, onQuit() {} })
  expect(shown(controller)).toContain('No node has reported yet')
  await controller.open()
  await vi.waitFor(() => expect(shown(controller)).toMatch(/prefork 2 nodes, 4 workers, 2 busy/))
  await vi.waitFor(() => expect(shown(controller)).toMatch(/running +resize +alpha +of-alpha(.|\n)*failure +resize: no +beta +of-beta/))
  expect(shown(controller)).toMatch(/queue 15 {2}held 6\/40 {2}running 4/)
  expect(shown(controller)).toMatch(/done 200 {2}failed 6/)
  press(controller, { input: '', name: 'down' })
  press(controller, { input: '', name: 'enter' })
  expect(shown(controller)).toMatch(/prefork beta running(.|\n)*1 \(4711\)/)
  expect(shown(controller)).not.toContain('of-alpha')
  press(controller, { input: '+' })
  await vi.waitFor(() => expect(beta.asked).toContainEqual({ command: 'grow', by: 1 }))
  expect(alpha.asked).not.toContainEqual({ command: 'grow', by: 1 })
  alpha.emit({ type: 'node.heartbeat', stats: scriptedStats({ depth: 777 }) })
  press(controller, { input: 'n' })
  expect(shown(controller)).toContain('queue 777')
  press(controller, { input: '', name: 'escape' })
  expect(shown(controller)).toContain('prefork 2 nodes')
  await source.close()
  expect(alpha.listening).toBe(0)
})

test('a node that is killed is gone with the reason; its counts and jobs are no more among those of all, and its page gives way', async () => {
  const [alpha, beta] = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  beta.tasks = [scriptedTask({ id: 'of-beta' })]
  const { controller, close } = await openOn([alpha, beta])
  await vi.waitFor(() => expect(shown(controller)).toContain('of-beta'))
  controller.showNode('beta')
  const at = vi.spyOn(Date, 'now').mockReturnValue(NOW + 16_000)
  alpha.emit({ type: 'node.heartbeat', stats: scriptedStats() })
  controller.tick()
  expect(shown(controller)).toMatch(/beta is gone: no heartbeat for 16 s: killed, frozen or cut off/)
  expect(shown(controller)).toMatch(/prefork beta gone \(no heartbeat for 16 s/)
  press(controller, { input: '', name: 'escape' })
  expect(shown(controller)).toMatch(/prefork 1 node, 2 workers, 1 busy, 1 gone/)
  expect(shown(controller)).toMatch(/beta +gone \(no heartbeat/)
  expect(shown(controller)).toContain('done 100  failed 3')
  expect(shown(controller)).not.toContain('of-beta')
  controller.showNode('beta')
  at.mockReturnValue(NOW + 77_000)
  alpha.emit({ type: 'node.heartbeat', stats: scriptedStats() })
  controller.tick()
  expect(shown(controller)).toMatch(/prefork 1 node, 2 workers, 1 busy {2}/)
  expect(shown(controller)).not.toContain('gone (')
  await close()
})

test('a dashboard that has lost its own connection says so, and calls no node gone', async () => {
  const nodes = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  let connected = true
  const client: ControlClient = Object.defineProperty(controlClientOf(...nodes), 'connected', { get: () => connected })
  const { controller, close } = await openOn(nodes, { source: new RemoteSource(client) })
  connected = false
  vi.spyOn(Date, 'now').mockReturnValue(NOW + 16_000)
  controller.tick()
  expect(shown(controller)).toMatch(/2 nodes, the dashboard has lost its connection; it tries again /)
  expect(shown(controller)).toMatch(/beta +unknown/)
  expect(shown(controller)).not.toContain('gone')
  connected = true
  for (const node of nodes) node.emit({ type: 'node.heartbeat', stats: scriptedStats({ node: node.name }) })
  controller.tick()
  expect(shown(controller)).toMatch(/prefork 2 nodes, 4 workers, 2 busy {2}/)
  expect(shown(controller)).not.toContain('unknown')
  await close()
})

test('nodes that go at the same time are in one notice', async () => {
  const nodes = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  const { controller, close } = await openOn(nodes)
  for (const node of nodes) node.emit({ type: 'node.down', reason: 'SIGTERM' })
  controller.tick()
  expect(shown(controller)).toContain('alpha is gone: SIGTERM; beta is gone: SIGTERM')
  await close()
})

test('the line of a node says how many of its workers are stuck', async () => {
  const { controller, close } = await openOn([
    new ScriptedNode({
      workers: [scriptedWorker({ stalled: 5_000 }), scriptedWorker({ id: 2 }), scriptedWorker({ id: 3, state: 'starting', stalled: 9_000 })],
    }),
  ])
  expect(shown(controller)).toMatch(/alpha +1 stuck/)
  controller.showNode('alpha')
  expect(shown(controller)).toContain('prefork alpha running, 1 stuck')
  await close()
})

test('the jobs follow the newest, stand still once the choice is moved and say how many are newer, and follow again with Home', async () => {
  const node = new ScriptedNode()
  node.tasks = Array.from({ length: 30 }, (_, i) =>
    scriptedTask({ id: `old-${i}`, status: 'success', started: undefined, received: NOW - 1_000 + i, ended: undefined }),
  )
  const { controller, close } = await openOver(node)
  const receive = (id: string): void => node.emit({ type: 'task.received', id, name: 'mail', queue: 'q', counts: { attempt: 1, losses: 0, requeues: 0 } })
  await vi.waitFor(() => expect(shown(controller)).toContain('old-29'))
  receive('new-0')
  expect(shown(controller)).toContain('new-0')
  press(controller, { input: '', name: 'tab' })
  for (let i = 0; i < 3; i++) press(controller, { input: '', name: 'down' })
  // The other list has the focus, as in an incident: the list stands, and says so.
  press(controller, { input: '', name: 'tab' })
  for (let i = 1; i <= 42; i++) receive(`new-${i}`)
  expect(shown(controller)).toMatch(/name {2}↑ 42 newer/)
  expect(shown(controller)).not.toContain('new-42')
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: '', name: 'home' })
  expect(shown(controller)).toContain('new-42')
  expect(shown(controller)).not.toContain('newer')
  press(controller, { input: '', name: 'end' })
  expect(shown(controller)).toContain('old-0')
  expect(controller.task!.id).toBe('old-0')
  await close()
})

test('/ filters the jobs while it is typed; Enter keeps the filter, Esc clears it; o changes the order', async () => {
  const node = new ScriptedNode()
  node.tasks = [
    scriptedTask({ id: 'a', name: 'mail', status: 'success', ended: 1, duration: 7 }),
    scriptedTask({ id: 'b', name: 'mail', status: 'failure', ended: 2, duration: 9_000, error: 'Error: no' }),
    scriptedTask({ id: 'c', name: 'resize' }),
  ]
  const { controller, close } = await openOver(node)
  const ids = (): string[] => controller.currentTasks.map(({ id }) => id)
  await vi.waitFor(() => expect(ids()).toEqual(['c', 'b', 'a']))
  press(controller, { input: '/' })
  type(controller, 'mail state:failedx')
  expect(shown(controller)).toContain("no job matches 'mail state:failedx'")
  press(controller, { input: '', name: 'backspace' })
  expect([ids(), shown(controller)]).toEqual([['b'], expect.stringContaining('/mail state:failed█')])
  press(controller, { input: '', name: 'enter' })
  // Keys are keys again.
  press(controller, { input: 'o' })
  expect(ids()).toEqual(['b'])
  expect(shown(controller)).toMatch(/name {2}\/mail state:failed {2}by longest/)
  press(controller, { input: '', name: 'escape' })
  expect(ids()).toEqual(['c', 'b', 'a'])
  press(controller, { input: '/' })
  type(controller, 'q')
  press(controller, { input: '', name: 'escape' })
  expect([controller.typing, ids()]).toEqual([false, ['c', 'b', 'a']])
  await close()
})

test('several keys that come at once are pressed one after the other', async () => {
  const node = new ScriptedNode()
  node.tasks = [scriptedTask({ id: 'a', name: 'mail' }), scriptedTask({ id: 'b', name: 'resize' })]
  const { controller, close } = await openOver(node)
  await vi.waitFor(() => expect(controller.currentTasks).toHaveLength(2))
  press(controller, { input: '/maiX\x7fl\r' })
  expect([controller.filter, controller.typing]).toEqual(['mail', false])
  press(controller, { input: '\r', name: 'enter' })
  expect(controller.overlay).toMatchObject({ kind: 'task', id: 'a' })
  await close()
})

test('the page of a failed job has its arguments, the stack of its error, its attempts and its output', async () => {
  const node = new ScriptedNode()
  const told = {
    ...({ status: 'failure' } as const),
    ...{ error: 'Error: no', ended: NOW, counts: { attempt: 2, losses: 0, requeues: 0 } },
    ...{ arguments: '["a@b.c", {"token": "***"}]', stack: 'Error: no\n    at mail (/app/tasks.js:3:9)' },
    attempts: [{ attempt: 1, at: NOW, node: 'old-node', outcome: 'lost' as const, error: 'SIGKILL' }],
    logs: [{ time: NOW, stream: 'stdout', text: 'trying' }],
  }
  const { controller, close } = await openOver(node)
  // What a node tells in its events has none of it: it is asked when the page is opened.
  node.emit({ type: 'task.failed', id: 'job-a', name: 'resize', worker: 1, duration: 5, error: 'Error: no', dead: 'failed' })
  node.tasks = [scriptedTask(told)]
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: '', name: 'enter' })
  await vi.waitFor(() => expect(shown(controller)).toContain('at mail (/app/tasks.js:3:9)'))
  expect(node.asked).toContainEqual({ command: 'snapshot', id: 'job-a' })
  const picture = shown(controller)
  expect(picture).toContain('["a@b.c", {"token": "***"}]')
  expect(picture).toMatch(/1 {2}\d\d:\d\d:\d\d {2}old-node {2}lost: SIGKILL/)
  expect(picture).toContain('trying')
  expect(picture).toContain('R retry')
  // What has succeeded cannot be sent back.
  press(controller, { input: '', name: 'escape' })
  node.tasks = [scriptedTask({ ...told, status: 'success' })]
  node.emit({ type: 'task.succeeded', id: 'job-a', name: 'resize', worker: 1, duration: 5 })
  press(controller, { input: '', name: 'enter' })
  await vi.waitFor(() => expect(shown(controller)).toMatch(/^success /m))
  expect(shown(controller)).not.toContain('R retry')
  await close()
})

test('the page of a job that runs shows its output as it comes, and its error once it has failed', async () => {
  const node = new ScriptedNode()
  const logs = [{ time: NOW, stream: 'stdout', text: 'half way' }]
  node.tasks = [scriptedTask()]
  const { controller, close } = await openOver(node)
  await vi.waitFor(() => expect(controller.currentTasks).toHaveLength(1))
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: '', name: 'enter' })
  await vi.waitFor(() => expect(shown(controller)).toContain('It has written nothing'))
  node.tasks = [scriptedTask({ logs })]
  controller.tick()
  expect(node.asked.filter(({ command }) => command === 'snapshot')).toHaveLength(2)
  const at = vi.spyOn(Date, 'now').mockReturnValue(NOW + 1_000)
  controller.tick()
  await vi.waitFor(() => expect(shown(controller)).toContain('half way'))
  node.emit({ type: 'task.failed', id: 'job-a', name: 'resize', worker: 1, duration: 5, error: 'Error: no', dead: 'failed' })
  node.tasks = [scriptedTask({ logs, status: 'failure', ended: NOW, error: 'Error: no', stack: 'Error: no\n    at resize (/app/tasks.js:3:9)' })]
  controller.tick()
  await vi.waitFor(() => expect(shown(controller)).toContain('at resize (/app/tasks.js:3:9)'))
  // It does not change any more.
  const asked = node.asked.length
  for (const seconds of [5, 10]) {
    at.mockReturnValue(NOW + seconds * 1_000)
    controller.tick()
  }
  expect(node.asked.length).toBeLessThanOrEqual(asked + 1)
  await close()
})

test('from 120 columns on the id is whole; below, names come before blanks', async () => {
  const node = new ScriptedNode()
  const [id, name] = ['0f8a8b2e-4d1c-4f6e-9a3b-2c5d7e9f1a3b', 'reports/monthly#renderAndSend']
  node.tasks = [scriptedTask({ id, name, status: 'failure', error: 'x'.repeat(300), ended: 1, duration: 5 })]
  const { controller, close } = await openOver(node)
  await vi.waitFor(() => expect(shown(controller)).toContain('failure'))
  expect(shown(controller, 120)).toContain(id)
  expect(shown(controller, 80)).toContain(name)
  node.tasks = [scriptedTask({ id, name: 'add', status: 'success', ended: 1, duration: 5 })]
  press(controller, { input: 's' })
  // Its name leaves room for it.
  await vi.waitFor(() => expect(shown(controller, 110)).toContain(id))
  await close()
})

const letter = (more: Partial<DeadLetterRecord> = {}): DeadLetterRecord => ({
  ...{ id: 'd1', task: 'mail', queue: 'q', reason: 'failed', error: 'Error: no', stack: 'Error: no\n    at mail (/app/tasks.js:3:9)', at: NOW, node: 'alpha' },
  ...{ attempt: 3, losses: 0, attempts: [{ attempt: 3, at: NOW, node: 'alpha', outcome: 'failed', error: 'Error: no' }], arguments: '["a@b.c"]' },
  ...more,
})

/** Dead letters in an array; a retry removes them. */
const lettersOf = (letters: DeadLetterRecord[]) => {
  const asked: unknown[][] = []
  const source: DeadLetters = {
    async read(queues, limit) {
      asked.push(['read', queues, limit])
      return [...letters]
    },
    async retry(queues, ids) {
      asked.push(['retry', queues, ids])
      const wanted = letters.filter(({ id }) => ids === 'all' || ids.includes(id!))
      for (const each of wanted) letters.splice(letters.indexOf(each), 1)
      return wanted.length
    },
  }
  return { source, asked }
}

test('d shows the dead letters: one is looked at, one retried, those that match retried, each after a question', async () => {
  const letters = [
    letter(),
    letter({ id: 'd2', task: 'resize', at: NOW - 1 }),
    letter({ id: 'd3', at: NOW - 2 }),
    letter({ id: undefined, task: undefined, at: undefined, reason: 'undecodable' }),
  ]
  const { source, asked } = lettersOf(letters)
  const { controller, close } = await openOver(new ScriptedNode(), { deadLetters: source })
  press(controller, { input: 'd' })
  await vi.waitFor(() => expect(shown(controller)).toMatch(/failed +mail: no +d1 +3/))
  expect(asked).toEqual([['read', ['async_farm.jobs'], 1_000]])
  expect(shown(controller)).toMatch(/undecodable +\(unreadable\): no +\(no id\)/)
  press(controller, { input: '', name: 'enter' })
  for (const text of ['["a@b.c"]', 'at mail (/app/tasks.js:3:9)', 'queue q  node alpha', 'R retry']) expect(shown(controller)).toContain(text)
  press(controller, { input: '', name: 'escape' })
  press(controller, { input: 'R' })
  expect(shown(controller)).toContain('Retry mail d1? y / n')
  press(controller, { input: 'n' })
  expect(letters).toHaveLength(4)
  press(controller, { input: 'R' })
  press(controller, { input: 'y' })
  await vi.waitFor(() => expect(shown(controller)).toContain('retry: it went back to its queue'))
  expect(asked.slice(1, 2)).toEqual([['retry', ['q'], ['d1']]])
  press(controller, { input: '/' })
  type(controller, 'task:resize')
  press(controller, { input: '', name: 'enter' })
  press(controller, { input: 'A' })
  expect(shown(controller)).toContain("Retry the 1 that match 'task:resize'? y / n")
  press(controller, { input: 'y' })
  await vi.waitFor(() => expect(letters.map(({ id }) => id)).toEqual(['d3', undefined]))
  press(controller, { input: '', name: 'escape' })
  await vi.waitFor(() => expect(controller.currentLetters).toHaveLength(2))
  press(controller, { input: 'A' })
  expect(shown(controller)).toContain('Retry all 2 dead letters? y / n')
  press(controller, { input: 'y' })
  await vi.waitFor(() => expect(shown(controller)).toContain('no dead letters'))
  expect(asked).toContainEqual(['retry', ['async_farm.jobs'], 'all'])
  press(controller, { input: '', name: 'escape' })
  expect(controller.page).toBe('nodes')
  await close()
})

test('a broker that cannot list its dead letters: their number, and those that the nodes remember', async () => {
  const asked: unknown[] = []
  const deadLetters: DeadLetters = {
    read: async () => 12,
    async retry(queues, ids) {
      asked.push([queues, ids])
      return 1
    },
  }
  const node = new ScriptedNode()
  node.tasks = [scriptedTask({ id: 'dead-1', status: 'failure', error: 'Error: no', ended: 1 }), scriptedTask({ id: 'runs' })]
  const { controller, close } = await openOver(node, { deadLetters })
  await vi.waitFor(() => expect(controller.currentTasks).toHaveLength(2))
  press(controller, { input: 'd' })
  await vi.waitFor(() => expect(shown(controller, 120)).toMatch(/12 are dead in all queues; shown: what the nodes remember(.|\n)*resize: no/))
  expect(shown(controller)).not.toContain('runs')
  press(controller, { input: 'A' })
  expect(shown(controller)).toContain('Retry all dead letters of async_farm.jobs?')
  press(controller, { input: 'n' })
  // A job of the list of jobs can be retried as well.
  press(controller, { input: '', name: 'escape' })
  press(controller, { input: '', name: 'tab' })
  press(controller, { input: 'R' })
  expect(shown(controller)).toContain('Choose a dead letter (d), or a job that has failed')
  press(controller, { input: '', name: 'down' })
  press(controller, { input: 'R' })
  press(controller, { input: 'y' })
  await vi.waitFor(() => expect(asked).toEqual([[['async_farm.jobs'], ['dead-1']]]))
  await close()
})

test('dead letters that cannot be read give a notice', async () => {
  const deadLetters: DeadLetters = { read: () => Promise.reject(new Error("There is no queue 'x.dlq'")), retry: async () => 0 }
  const { controller, close } = await openOver(new ScriptedNode(), { deadLetters })
  press(controller, { input: 'd' })
  await vi.waitFor(() => expect(shown(controller)).toContain("dead letters: There is no queue 'x.dlq'"))
  await close()
})

const PROFILE = {
  nodes: [
    { id: 1, callFrame: { functionName: '(root)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 0, children: [2, 3] },
    { id: 2, callFrame: { functionName: 'resize', scriptId: '1', url: 'file:///srv/app/tasks.js', lineNumber: 11, columnNumber: 2 }, hitCount: 75 },
    { id: 3, callFrame: { functionName: '(idle)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 25 },
  ],
  startTime: 0,
  endTime: 5_000_000,
  samples: [2, 3],
  timeDeltas: [1, 1],
}

test('p samples the chosen worker for five seconds, shows where its time goes, and writes a file that it does not overwrite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-profile-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const node = new ScriptedNode()
  node.answers.profile = { worker: 2, profile: PROFILE }
  const { controller, close } = await openOver(node, { folder })
  press(controller, { input: '', name: 'down' })
  press(controller, { input: 'p' })
  expect(shown(controller)).toContain('sampling for 5.0 s …  The worker runs on.')
  expect(node.asked).toContainEqual({ command: 'profile', worker: 2, ms: 5_000 })
  await vi.waitFor(() => expect(shown(controller)).toMatch(/5\.0 s, 100 samples, idle 25\.0 %/))
  expect(shown(controller)).toMatch(/75\.0 % +75\.0 % {2}resize {2}app\/tasks\.js:12/)
  expect(shown(controller, 140)).toContain(join(folder, 'alpha-worker-2-'))
  press(controller, { input: 'p' })
  press(controller, { input: '', name: 'escape' })
  await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(2))
  await vi.waitFor(() => expect(shown(controller, 140)).toMatch(/alpha-worker-2-.*cpuprofile/))
  for (const file of readdirSync(folder)) expect(JSON.parse(readFileSync(join(folder, file), 'utf8'))).toEqual(PROFILE)
  // The time is that of this test's clock: the second file has another name.
  expect(readdirSync(folder).every((name) => /^alpha-worker-2-\d{8}-\d{6}(-2)?\.cpuprofile$/.test(name))).toBe(true)
  await close()
})

test.each<[string, unknown, string]>([
  ['refuses', new Error('it has no watchdog'), 'No answer: it has no watchdog'],
  ['answers something else', { worker: 1, profile: { nodes: 7 } }, 'No answer: the answer is not what this version reads'],
])('a node that %s shows no profile', async (_, answer, text) => {
  const node = new ScriptedNode()
  node.answers.profile = answer
  const { controller, close } = await openOver(node, { folder: '/nowhere' })
  press(controller, { input: 'p' })
  await vi.waitFor(() => expect(shown(controller)).toContain(text))
  await close()
})

test('a profile that cannot be written is shown all the same', async () => {
  const node = new ScriptedNode()
  node.answers.profile = { worker: 1, profile: PROFILE }
  const { controller, close } = await openOver(node, { folder: join(tmpdir(), 'prefork-no-such-folder') })
  press(controller, { input: 'p' })
  await vi.waitFor(() => expect(shown(controller)).toMatch(/It could not be written: ENOENT(.|\n)*resize {2}app\/tasks\.js:12/))
  await close()
})

test('a worker is chosen on the page of its node', async () => {
  const { controller, close } = await openOn([new ScriptedNode()])
  for (const key of ['p', 't']) {
    press(controller, { input: key })
    expect(shown(controller)).toContain('Choose a worker first: Enter shows the workers of a node')
    controller.notify('')
  }
  await close()
})
