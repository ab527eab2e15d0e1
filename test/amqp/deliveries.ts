import { expect, it } from 'vitest'
import type { Settlement } from '../../src/runtime/delivery.js'
import { NO_ERROR } from '../fixtures/memory-broker.js'
import { acknowledge, DeliveryCollector, first, type isolatedTopology, job, until } from './rabbit.js'

type Topology = ReturnType<typeof isolatedTopology>

type QueueType = 'quorum' | 'classic'

/** Tests that a node never holds more than its capacity. */
export const boundedByCapacity = ({ queue, broker }: Topology, queueTypes: readonly QueueType[]): void => {
  it.each(queueTypes)('%s: never more than the capacity are unsettled, also while it changes', async (queueType) => {
    const node = await broker({ queueType })
    const collector = new DeliveryCollector()
    for (let i = 0; i < 30; i++) await node.publish(job(queue, `j${i}`))
    const held = (): number => collector.all.length - settled
    let settled = 0
    const settle = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) expect((await collector.all[settled++]!.settle(acknowledge)).settled).toBe(true)
    }
    const consumption = node.consume(3, collector.receive)
    await until('3 are held', () => held() === 3)
    consumption.setCapacity(7)
    await until('7 are held', () => held() === 7)
    await consumption.pause()
    consumption.setCapacity(2)
    consumption.resume()
    // Those held stay: none is delivered again. The number falls to 2 and no further.
    await settle(5)
    await until('2 are held', () => held() === 2)
    await settle(2)
    await until('2 others are held', () => held() === 2)
    expect(collector.all.length).toBe(9)
    await consumption.pause()
    await settle(2)
    consumption.setCapacity(5)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(held()).toBe(0)
    consumption.resume()
    await until('5 are held', () => held() === 5)
    while (settled < 30) {
      await until('another came', () => held() > 0)
      expect(held()).toBeLessThanOrEqual(5)
      await settle(1)
    }
    expect(collector.ids.toSorted()).toEqual(Array.from({ length: 30 }, (_, i) => `j${i}`).toSorted())
    expect(collector.all.every((each) => !each.redelivered)).toBe(true)
    expect(await node.depth()).toBe(0)
  })
}

/** Tests the order of priorities. */
export const higherFirst = ({ queue, broker }: Topology, queueTypes: readonly QueueType[]): void => {
  it.each(queueTypes)('%s: higher priorities come first', async (queueType) => {
    const node = await broker({ queueType, priorityLevels: 3 })
    for (const [id, priority] of [
      ['low', 0],
      ['mid', 1],
      ['high', 2],
      ['above', 9],
      ['none', undefined],
    ] as const)
      await node.publish(job(queue, id, { headers: { priority } }))
    await until('all are ready', async () => (await node.depth()) === 5)
    const collector = new DeliveryCollector()
    node.consume(queueType === 'quorum' ? 3 : 1, (delivery) => {
      collector.receive(delivery)
      void delivery.settle(acknowledge)
    })
    await until('all came', () => collector.all.length === 5)
    const place = (id: string): number => collector.ids.indexOf(id)
    if (queueType === 'classic') expect(collector.ids).toEqual(['high', 'above', 'mid', 'low', 'none'])
    // A queue for each level, consumed concurrently: in order within each.
    else expect([place('high') < place('above'), place('low') < place('none')]).toEqual([true, true])
    expect(new Set(collector.all.map((each) => each.queue))).toEqual(new Set([queue]))
  })
}

/** Tests how a delivery whose connection was lost comes back. */
export const returnedOfLost = ({ queue, broker }: Topology, queueTypes: readonly QueueType[]): void => {
  it.each(queueTypes)('%s: of a connection that was lost have come back, and when given back are as suspicious as they were', async (queueType) => {
    const returned = async (settle: Settlement | undefined): Promise<number> => {
      const node = await broker({ queueType })
      const collector = new DeliveryCollector()
      node.consume(1, collector.receive)
      const delivery = await collector.take('a')
      const result = delivery.returned!
      if (settle !== undefined) {
        await delivery.settle(settle)
        await collector.take('a', 1)
      }
      await node.close()
      return result
    }
    const publisher = await broker({ queueType })
    await publisher.publish(job(queue, 'a'))
    // A classic queue says only that it has come back: the node counts that before it runs.
    const counted: Settlement = { kind: 'republish', why: 'untried', error: NO_ERROR, delay: 0, counts: first, history: [] }
    const each: number[] = []
    for (let n = 0; n < 4; n++) each.push(await returned(queueType === 'classic' && n > 0 ? counted : undefined))
    each.push(await returned({ kind: 'requeue' }), await returned(undefined))
    // A quorum queue counts what was given back, too: of what it has counted itself, no more than two are kept. The node's own count is.
    expect(each).toEqual([0, 1, 2, 3, 4, queueType === 'quorum' ? 3 : 4])
  })
}
