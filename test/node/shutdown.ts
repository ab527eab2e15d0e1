import { expect, it } from 'vitest'
import { MemoryBroker, MemoryServer } from '../fixtures/memory-broker.js'
import { startNode } from '../fixtures/nodes.js'
import { Journal, until } from '../fixtures/support.js'

/** Tests nodes that take over from each other while so many jobs wait. */
export const shutdownsUnderLoad = (jobs: number): void => {
  it(`shutdowns under load lose none of ${jobs} jobs: each is done once, however many nodes shut down`, async () => {
    const server = new MemoryServer()
    const journal = new Journal()
    const ids = Array.from({ length: jobs }, (_, index) => server.add('sleepThenMark', [index % 20, journal.path, `j${index}`]))
    for (let round = 0; server.acknowledged.length < ids.length && round < 40; round++) {
      const farm = await startNode({ concurrency: 5, shutdownGrace: 2_000 }, server, new MemoryBroker(server))
      const before = server.acknowledged.length
      await until('some are done', () => server.acknowledged.length >= Math.min(ids.length, before + 20))
      expect(await farm.node.shutdown()).toMatchObject({ clean: true, killed: 0 })
      expect(farm.broker.unsettled).toBe(0)
    }
    expect(server.acknowledged.sort()).toEqual(ids.sort())
    expect(new Set(journal.lines).size).toBe(ids.length)
    expect(journal.lines).toHaveLength(ids.length)
    expect(server.dead).toEqual([])
  }, 60_000)
}
