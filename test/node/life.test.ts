import { expect, it } from 'vitest'
import { startNode } from '../fixtures/nodes.js'
import { until } from '../fixtures/support.js'

it('a job goes from the broker to a worker, and is acknowledged when it is done', async () => {
  const { node, broker, server } = await startNode()
  const id = server.add('echo', ['hello'], { replyTo: 'me' })
  await until('it is acknowledged', () => server.acknowledged.includes(id))
  expect(server.replies).toMatchObject([{ id, ok: true }])
  expect(broker.unsettled).toBe(0)
  expect(node.stats()).toMatchObject({ state: 'running', connected: true, held: 0, totals: { received: 1, succeeded: 1 } })
  expect(broker.events.map(({ type }) => type).filter((type) => type !== 'node.heartbeat')).toEqual([
    'node.up',
    'worker.up',
    'task.received',
    'task.started',
    'task.succeeded',
  ])
  expect(await node.shutdown()).toEqual({ clean: true, requeued: 0, killed: 0 })
  expect(broker.events.at(-1)).toMatchObject({ type: 'node.down' })
})
