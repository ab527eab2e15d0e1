/** How the model of a farm is kept true. */
import { expect, onTestFinished, test } from 'vitest'
import { RemoteSource } from '../../src/dashboard/model/farm-source.js'
import { LiveFarm } from '../../src/dashboard/model/live-farm.js'
import { controlClientOf, ScriptedNode, scriptedStats, scriptedTask } from '../fixtures/scripted-node.js'
import { until } from '../fixtures/until.js'

test('a job whose end was not heard of does not run forever: its node is asked again, not with each heartbeat', async () => {
  let now = 1_000_000
  const node = new ScriptedNode({ running: 1 })
  const source = new RemoteSource(controlClientOf(node))
  const farm = new LiveFarm(source, () => now)
  onTestFinished(() => farm.close())
  await farm.open(() => {})
  const snapshots = () => node.asked.filter(({ command }) => command === 'snapshot').length
  await until('the jobs from before', () => snapshots() === 1)
  const beat = (running: number): void => {
    now += 1_000
    node.emit({ type: 'node.heartbeat', stats: scriptedStats({ running }) }, now)
  }
  const statuses = () => farm.model.tasks(now).map(({ id, status }) => `${id} ${status}`)
  for (const id of ['a', 'b']) node.emit({ type: 'task.started', id, name: 'mail', worker: 1, attempt: 1 }, now)
  // An end that is under way makes up for it.
  for (const running of [2, 1, 1, 2, 1, 1, 2]) beat(running)
  expect([snapshots(), statuses()]).toEqual([1, ['a running', 'b running']])
  node.tasks = [scriptedTask({ id: 'a', status: 'success', ended: now }), scriptedTask({ id: 'b' })]
  for (let n = 0; n < 3; n++) beat(1)
  await until('the end of a', () => statuses().includes('a success'))
  expect([snapshots(), statuses().sort()]).toEqual([2, ['a success', 'b running']])
  // It says the same again.
  for (let n = 0; n < 9; n++) beat(0)
  expect(snapshots()).toBe(2)
  beat(0)
  await until('another look', () => snapshots() === 3)
})

test('jobs from before are as old as they are, however far the clock of their node is ahead', async () => {
  const now = 10_000_000
  const ahead = 3_600_000
  const node = new ScriptedNode()
  node.answers.ping = { node: 'alpha', state: 'running', uptime: 1, at: now + ahead }
  node.tasks = [scriptedTask({ status: 'success', ended: now + ahead - 5_000 })]
  const farm = new LiveFarm(new RemoteSource(controlClientOf(node)), () => now)
  onTestFinished(() => farm.close())
  await farm.open(() => {})
  await until('the jobs from before', () => farm.model.tasks(now).length > 0)
  expect(farm.model.tasks(now)[0]!.changed).toBe(now - 5_000)
})
