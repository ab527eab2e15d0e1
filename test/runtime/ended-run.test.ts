/** What the history of a job says of a run that ended with its worker. */
import { expect, it } from 'vitest'
import { startNode } from '../fixtures/nodes.js'
import { fixture } from '../fixtures/pools.js'
import { Journal, until } from '../fixtures/support.js'

it.each<[string, string, unknown[], object, string]>([
  ['a signal', 'killSelf', ['SIGSEGV'], {}, 'killed by SIGSEGV'],
  ['an exit', 'exitWith', [3], {}, 'it exited with code 3'],
  ['its heap', 'exhaustHeap', [], { env: { ...process.env, NODE_OPTIONS: '--max-old-space-size=32' } }, 'heap out of memory (--max-old-space-size, 32 MB)'],
])('%s', async (_, task, args, options, cause) => {
  const { server, node } = await startNode({ tasks: fixture('tasks.js'), maxLosses: 2, ...options })
  const reasons: string[] = []
  node.onEvent((event) => {
    if (event.type === 'task.lost') reasons.push(event.reason)
  })
  server.add(task, args)
  await until('it is dead', () => server.dead.length === 1)
  const { history, error } = server.dead[0]!.settlement
  const texts = history.map((entry) => entry.error.replace(/worker \d+/, 'worker n'))
  expect(texts).toEqual([`ended with worker n: ${cause}`, `ended with worker n: ${cause}`])
  expect(reasons).toEqual(history.map((entry) => entry.error))
  expect(error).toMatchObject({ name: 'WorkerLostError', code: 'ERR_PREFORK_WORKER_LOST' })
})

it('a neighbour that did not obey its cancellation is named', async () => {
  const { server, broker } = await startNode({ tasks: fixture('retry-tasks.js'), concurrency: 2, maxLosses: 1, cancelGrace: 100 })
  const journal = new Journal()
  server.add('waitForDeath', [journal.path, 'victim'], { id: 'victim' })
  server.add('ignoreAbort', [journal.path, 'culprit'], { id: 'abc' })
  await journal.seen('victim1')
  await journal.seen('culprit')
  await broker.command!({ command: 'revoke', id: 'abc', terminate: true })
  await until('the neighbour is dead', () => server.dead.length === 1)
  expect(server.dead[0]!.settlement.history).toMatchObject([
    { outcome: 'lost', error: expect.stringMatching(/^ended with worker \d+: cancellation of job 'abc' \(task 'ignoreAbort'\)$/) },
  ])
})
