import { afterEach, describe, expect, it } from 'vitest'
import { fitHeaders } from '../../../src/amqp/headers/header-size.js'
import { NO_ERROR } from '../../fixtures/memory-broker.js'
import { admin, DeliveryCollector, first, isolatedTopology, newName, until, withRabbit } from '../rabbit.js'

const line = (text: string) => ({ attempt: 1, at: 5, node: 'n', outcome: 'failed', error: text })

describe('headers that do not fit into a message', () => {
  it('stay as they are while they fit', () => {
    const headers = { attempt: 1, mine: 'x'.repeat(64_000), history: [line('a')] }
    expect(fitHeaders(headers)).toBe(headers)
  })

  it('lose the stack first, then the oldest history', () => {
    const headers = { attempt: 3, mine: 'x'.repeat(60_000), history: [line('old'.repeat(1_000)), line('new')], dead_error_stack: 's'.repeat(3_000) }
    expect(fitHeaders(headers)).toEqual({ attempt: 3, mine: headers.mine, history: [line('new')], dropped_headers: 'dead_error_stack' })
  })

  it('lose their largest ones last, and never those that control the job', () => {
    const headers = { attempt: 3, max_attempts: 5, small: 'here', big: ['x'.repeat(40_000)], bigger: { deep: Buffer.alloc(90_000) }, dead_error_stack: 's' }
    expect(fitHeaders(headers)).toEqual({
      attempt: 3,
      max_attempts: 5,
      small: 'here',
      big: headers.big,
      dropped_headers: 'dead_error_stack bigger',
    })
    expect(fitHeaders({ attempt: 'x'.repeat(70_000), mine: 1 })).toEqual({ mine: 1, dropped_headers: 'attempt' })
    const many = fitHeaders({ ['ä'.repeat(100)]: 1, ...Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`key${i}`, i])) })
    expect((many as { dropped_headers?: string }).dropped_headers).toHaveLength(500)
  })
})

withRabbit('a job whose headers are full', () => {
  const { queue, broker, cleanUp } = isolatedTopology()
  afterEach(cleanUp)

  it('is retried and dead-lettered all the same', async () => {
    const node = await broker()
    const collector = new DeliveryCollector()
    const id = newName()
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      channel.sendToQueue(queue, Buffer.from('{}'), { messageId: id, headers: { mine: 'x'.repeat(65_300), trace: 't' } })
      await channel.checkQueue(queue)
    })
    node.consume(1, collector.receive)
    const history = Array.from({ length: 20 }, () => ({ attempt: 1, at: 5, node: 'n', outcome: 'failed' as const, error: 'e'.repeat(500) }))
    await (await collector.take(id)).settle({ kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { ...first, attempt: 2 }, history })
    const again = await collector.take(id, 1)
    expect(again).toMatchObject({ counts: { attempt: 2 } })
    await again.settle({
      kind: 'dead-letter',
      reason: 'failed',
      error: { name: 'E', message: 'm', stack: 's', code: undefined },
      counts: again.counts,
      history,
    })
    await until('nothing is left', async () => (await node.depth()) === 0)
    const dead = await onChannel((channel) => channel.get(`${queue}.dlq`, { noAck: true }))
    await close()
    expect((dead || undefined)?.properties.headers).toMatchObject({ trace: 't', attempt: 2, dead_reason: 'failed', dropped_headers: 'mine' })
  })
})
