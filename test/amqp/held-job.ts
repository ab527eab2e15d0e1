/** A node whose worker runs a job while its consumer ends. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublisher, createWorker, listDeadLetters } from 'prefork/amqp'
import { expect } from 'vitest'
import { fixture } from '../fixtures/pools.js'
import { admin, newName, removeQueues, until, untilStored } from './rabbit.js'

export interface FaultOptions {
  readonly url: string
  /** The node's URL, where it is another one. */
  readonly nodeUrl?: string
  readonly queueType: 'quorum' | 'classic'
  /** False: the fault removes the message. */
  readonly redelivered?: boolean
}

/** Checks that the running job runs once in spite of the fault, that another one runs beside it, and that no message is left. */
export const throughFault = async ({ url, nodeUrl = url, queueType, redelivered = true }: FaultOptions, fault: (queue: string) => unknown): Promise<void> => {
  const queue = newName()
  const exchanges = { controlExchange: `${queue}.control`, eventExchange: `${queue}.events` }
  const directory = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  const [journal, releaseFile] = [join(directory, 'journal'), join(directory, 'release')]
  const lines = (): string[] => (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').slice(0, -1) : [])
  const node = await createWorker({ url: nodeUrl, queue, queueType, ...exchanges, tasks: fixture('farm-tasks.js'), maxWorkers: 1, concurrency: 10 })
  const out = await createPublisher({ url, queue, queueType })
  const { onChannel, close } = await admin(url)
  /** The outcome of a job whose message is gone is taken by nobody. */
  const endings = (): number => node.stats().totals.succeeded + (redelivered ? 0 : node.stats().totals.refused)
  try {
    await out.publish('hold', [releaseFile, journal, 'held'], { messageId: 'held' })
    await until('it runs', () => lines().length === 1)
    await fault(queue)
    if (redelivered) await until('it was delivered again', () => node.stats().totals.received > 1)
    await untilStored(() => out.publish('mark', [journal, 'other'], { messageId: 'other' }))
    await until('another runs beside it', () => lines().includes('other'))
    writeFileSync(releaseFile, '')
    await until('both have ended', () => endings() === 2 && node.stats().held === 0)
    expect(node.stats().totals).toMatchObject({ failed: 0, retried: 0, lost: 0, deadLettered: 0 })
    expect(await node.shutdown()).toEqual({ clean: true, requeued: 0, killed: 0 })
    expect(lines()).toEqual(['+held', 'other', '-held'])
    expect(await onChannel((channel) => channel.get(queue))).toBe(false)
    expect(await listDeadLetters({ url, queue })).toEqual([])
  } finally {
    // Lets the job end, or its worker would wait without end.
    writeFileSync(releaseFile, '')
    await Promise.all([out.close(), close(), node.shutdown({ grace: 0 })])
    await removeQueues([queue], Object.values(exchanges), url)
    rmSync(directory, { recursive: true, force: true })
  }
}
