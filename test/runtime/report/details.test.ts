/** What a node tells of the jobs of its history, and of its workers. */
import { expect, test } from 'vitest'
import { sharedNode, startNode } from '../../fixtures/nodes.js'
import { until } from '../../fixtures/support.js'

const shared = sharedNode({ backoff: { kind: 'fixed', delay: 1 } })

test('a failed job has its arguments, its attempts and the stack of its error', async () => {
  const { node, server } = await shared()
  const id = server.add('fail', ['alas', { token: 'hush' }], { maxAttempts: 2 })
  server.add('echo', [1], { id: 'other' })
  await until('it is dead', () => server.dead.length === 1)
  const { tasks } = node.snapshot({ id })
  expect(tasks).toMatchObject([
    { id, status: 'retried', arguments: '["alas", {"token": "***"}]', attempts: [{ attempt: 1, outcome: 'failed', error: 'Error: alas' }] },
    { id, status: 'failure', error: 'Error: alas', attempts: [{ attempt: 1 }, { attempt: 2 }] },
  ])
  for (const { stack } of tasks) expect(stack).toMatch(/^Error: alas\n +at fail .*farm-tasks\.js/)
  await expect(node.command({ command: 'snapshot', id })).resolves.toMatchObject({ tasks: [{ id }, { id }] })
})

test('a job that a limit ended has the stack of its task', async () => {
  const { node, server } = await startNode({ timeLimit: 300 })
  const id = server.add('spinFor', [60_000], { maxAttempts: 1 })
  await until('it is dead', () => server.dead.length === 1)
  expect(node.snapshot({ id }).tasks[0]!.stack).toMatch(/^TimeLimitError: .*\n(.*\n)* +at .*spinFor/)
})

test('a running job shows its arguments; with showArguments: false no job does', async () => {
  const open = await startNode()
  const secret = await startNode({ showArguments: false })
  for (const { server } of [open, secret]) server.add('sleep', [60_000], { id: 'runs' })
  const statusOf = ({ node }: typeof open) => node.snapshot().tasks[0]?.status
  await until('both run', () => statusOf(open) === 'running' && statusOf(secret) === 'running')
  expect(open.node.snapshot().tasks[0]!.arguments).toBe('[60000]')
  expect(JSON.stringify(secret.node.snapshot())).not.toMatch(/"arguments"|\[60000\]/)
})

test('the counts of the workers add up to those of the node, under the same words', async () => {
  const { node, server } = await startNode({ minWorkers: 2, backoff: { kind: 'fixed', delay: 1 } })
  for (let i = 0; i < 30; i++) server.add(i % 3 === 0 ? 'fail' : 'echo', [], { id: `job-${i}`, maxAttempts: 3 })
  await until('all have ended', () => node.stats().totals.succeeded + node.stats().totals.failed === 30)
  const { totals, workers } = node.stats()
  const sum = (count: 'done' | 'failed' | 'retried'): number => workers.reduce((all, worker) => all + worker[count]!, 0)
  expect({ done: sum('done'), failed: sum('failed'), retried: sum('retried') }).toEqual({ done: 20, failed: 10, retried: 20 })
  expect(totals).toMatchObject({ succeeded: 20, failed: 10, retried: 20 })
})
