/** An alarm of memory: RabbitMQ holds back all publishers, and only consumers can end it. On a broker of its own. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { createPublisher, createWorker, type WorkerOptions } from 'prefork/amqp'
import { encodeJob } from 'prefork/runtime'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { ownNames } from '../cli/processes.js'
import { fixture } from '../fixtures/pools.js'
import { type PrivateBroker, privateBroker } from './private-broker.js'
import { newName, serverBinary, until, withOwnServer } from './rabbit.js'

const withServer = withOwnServer('the tests of an alarm')

withServer('during an alarm', () => {
  const { start } = ownNames()
  let server: PrivateBroker
  let directory: string
  let queue: string
  let held: string[]
  beforeAll(async () => {
    server = await privateBroker(serverBinary!)
  }, 120_000)
  afterAll(() => server.remove(), 60_000)
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'prefork-test-'))
    queue = newName()
    held = [join(directory, 'release'), join(directory, 'journal')]
  })
  afterEach(async () => {
    writeFileSync(held[0]!, '')
    await server.alarm(false)
    rmSync(directory, { recursive: true, force: true })
  }, 120_000)

  const done = (): string[] => (existsSync(held[1]!) ? readFileSync(held[1]!, 'utf8').split('\n').slice(0, -1) : [])
  const publish = async (): Promise<void> => {
    const out = await createPublisher({ url: server.url, queue })
    await out.publish('hold', [...held, 'held'])
    for (let i = 0; i < 5; i++) await out.publish('mark', [held[1]!, 'next'])
    await out.close()
  }
  const node = (more: Partial<WorkerOptions> = {}) => {
    const exchanges = { controlExchange: `${queue}.control`, eventExchange: `${queue}.events` }
    return createWorker({ url: server.url, queue, ...exchanges, tasks: fixture('farm-tasks.js'), maxWorkers: 1, prefetchPerWorker: 1, ...more })
  }

  it('a node that starts takes jobs and knows the depth of its queue', async () => {
    await publish()
    await server.alarm(true)
    const started = await node()
    try {
      await until('the first job runs', () => done().length === 1)
      await until('it knows the depth', () => started.stats().depth === 5)
      writeFileSync(held[0]!, '')
      await until('the queue is drained', () => started.stats().totals.succeeded === 6 && started.stats().depth === 0)
    } finally {
      writeFileSync(held[0]!, '')
      await started.shutdown({ grace: 0 })
    }
  }, 180_000)

  it('a node that was at work before still asks for the depth, and scales by it', async () => {
    const warnings: string[] = []
    const nothing = (): void => {}
    const logger = { trace: nothing, debug: nothing, info: nothing, error: nothing, warn: (_: object, message: string) => void warnings.push(message) }
    const started = await node({ maxWorkers: 3, logger })
    try {
      await started.command({ command: 'quiet' })
      await publish()
      await until('it knows the depth', () => started.stats().depth === 6)
      await server.alarm(true)
      await until('its publications are held back', () => warnings.some((each) => each.includes('takes no publications')))
      await started.command({ command: 'resume' })
      await until('it scales', () => started.stats().scale.wanted === 3)
      await until('the others are done', () => started.stats().totals.succeeded === 5 && started.stats().depth === 0)
    } finally {
      writeFileSync(held[0]!, '')
      await started.shutdown({ grace: 0 })
    }
  }, 180_000)

  it('jobs that came back before and are given back for one that runs alone come to the node again', async () => {
    const out = await createPublisher({ url: server.url, queue })
    // It holds its thread: the others are delivered, and do not begin.
    await out.publish('holdSync', [...held, 'held'])
    await out.close()
    const connection = await connect(server.url)
    const channel = await connection.createConfirmChannel()
    const add = (id: string, returns: number): void => {
      const { body, contentType } = encodeJob({ task: 'mark', args: [held[1]!, id] })
      channel.sendToQueue(queue, body, { contentType, messageId: id, headers: { returns }, persistent: true })
    }
    for (const id of ['a', 'b', 'c']) add(id, 1)
    add('suspect', 2)
    await channel.waitForConfirms()
    await connection.close()
    await server.alarm(true)
    const started = await node({ prefetchPerWorker: 8, concurrency: 8 })
    try {
      await until('the first job runs', () => done().length === 1)
      await until('the others are given back', () => started.stats().held === 2)
      writeFileSync(held[0]!, '')
      await until('all have run', () => started.stats().totals.succeeded === 5)
      expect(done().slice(1).sort()).toEqual(['-held', 'a', 'b', 'c', 'suspect'])
      expect(done().indexOf('suspect')).toBe(2)
      await server.alarm(false)
      await until('none is left', () => started.stats().held === 0 && started.stats().depth === 0)
      expect(started.stats().totals.succeeded).toBe(5)
    } finally {
      writeFileSync(held[0]!, '')
      await started.shutdown({ grace: 0 })
    }
  }, 180_000)

  it('publish --wait ends with 4: the job was not stored', async () => {
    await server.alarm(true)
    const { code, stderr } = await start(['publish', 'mark', '[]', '--wait', '--timeout', '3s'], { RABBITMQ_URL: server.url }).ended
    expect(stderr).toMatch(/^prefork: .*RabbitMQ did not confirm/)
    expect(code).toBe(4)
  }, 180_000)
})
