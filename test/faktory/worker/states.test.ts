import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CommandConnections } from '../../../src/faktory/connection/command-connections.js'
import { endpointOf } from '../../../src/faktory/options.js'
import { Heartbeat, type WorkerState } from '../../../src/faktory/worker/heartbeat.js'
import type { NodeStats } from '../../../src/runtime/report/report.js'
import { sharedFaktory } from '../../fixtures/faktory.js'
import { FaktoryServerProcess } from '../../fixtures/faktory-server/child.js'
import { blockHost, Journal, Latch, until } from '../../fixtures/support.js'
import { lineServer } from '../connection/line-server.js'
import { lineProxy } from './line-proxy.js'
import { nodeOn, push } from './nodes.js'

const BEATS = { beatInterval: 100 }

describe('a worker of Faktory', () => {
  const faktory = sharedFaktory()

  it('says on every connection who it is, and beats with its memory, before it fetches', async () => {
    const proxy = await lineProxy(faktory.url)
    const { wid, node } = await nodeOn(proxy.url, { queues: [faktory.newQueue()], ...BEATS, fetchers: 3 })
    const count = (verb: string): number => proxy.lines.filter((line) => line.startsWith(`${verb} `)).length
    await until('each connection is used', () => count('FETCH') >= 3)
    // One for commands, three that fetch.
    expect(count('HELLO')).toBe(4)
    const beats = count('BEAT')
    await until('it beats with the memory of its workers', () => count('BEAT') > beats + 1)
    const parsed = (verb: string) => proxy.lines.filter((line) => line.startsWith(`${verb} `)).map((line) => JSON.parse(line.slice(verb.length + 1)))
    for (const hello of parsed('HELLO')) expect(hello).toMatchObject({ v: 2, wid, hostname: 'test', pid: process.pid, labels: ['prefork', 'node'] })
    const { workers } = node.stats()
    const beat = parsed('BEAT').at(-1)
    expect(beat).toEqual({ wid, rss_kb: expect.any(Number) })
    expect(Number.isInteger(beat.rss_kb)).toBe(true)
    expect(beat.rss_kb * 1_024).toBeGreaterThan(workers[0]!.rss)
  })

  it('obeys quiet on every connection, once, and goes on beating; terminate ends it when its jobs have ended', async () => {
    const proxy = await lineProxy(faktory.url)
    const queue = faktory.newQueue()
    const client = await faktory.connect()
    const { node, wid } = await nodeOn(proxy.url, { queues: [queue], ...BEATS })
    const journal = new Journal()
    const latch = new Latch()
    await push(client, queue, 'hold', [latch.path, journal.path, 'held'])
    await journal.seen('+held')
    await faktory.signal(wid, 'quiet')
    await until('it is quiet', () => node.stats().state === 'quiet')
    // A FETCH may be in flight.
    await sleep(2_200)
    const before = proxy.lines.length
    await push(client, queue, 'mark', [journal.path, 'late'])
    await until(
      'it has beaten',
      () => proxy.lines.slice(before).filter((line) => line.startsWith('BEAT') && line.includes('"current_state":"quiet"')).length >= 3,
    )
    expect(proxy.lines.slice(before).filter((line) => line.startsWith('FETCH'))).toEqual([])
    expect(journal.has('late')).toBe(false)
    // The server repeats its wish at each beat: an operator may undo it.
    await node.command({ command: 'resume' })
    await journal.seen('late')
    expect(node.stats().state).toBe('running')
    await faktory.signal(wid, 'terminate')
    await until('it drains', () => node.stats().state === 'draining')
    latch.open()
    expect(await node.done).toEqual({ clean: true, requeued: 0, killed: 0 })
    expect(journal.has('-held')).toBe(true)
    expect(proxy.lines.some((line) => line.startsWith('BEAT') && line.includes('"current_state":"terminate"'))).toBe(true)
    expect(proxy.lines.filter((line) => line === 'END').length).toBeGreaterThan(2)
  })

  it('reports that it is quiet by itself, and takes the answer for an echo', async () => {
    const proxy = await lineProxy(faktory.url)
    const { node, warnings } = await nodeOn(proxy.url, { queues: [faktory.newQueue()], ...BEATS })
    await node.command({ command: 'quiet' })
    await until('it has said so', () => proxy.lines.filter((line) => line.includes('"current_state":"quiet"')).length >= 2)
    await node.command({ command: 'resume' })
    const resumed = proxy.lines.length
    await until('it has beaten', () => proxy.lines.slice(resumed).filter((line) => line.startsWith('BEAT')).length >= 3)
    expect(node.stats().state).toBe('running')
    expect(warnings).toEqual([])
  })
})

it('is announced again after a host that was blocked for longer than the server waits, and its jobs run once', async () => {
  // In a process of its own: this one is blocked.
  const server = await FaktoryServerProcess.start({ clocks: { silence: 800, reap: 100 } })
  onTestFinished(() => server.stop('SIGKILL'))
  const { RawClient } = await import('../../fixtures/faktory.js')
  const { node } = await nodeOn(server.url, { queues: ['q'], beatInterval: 200 })
  const client = await RawClient.connect(server.url)
  onTestFinished(() => client.close())
  const journal = new Journal()
  for (let index = 0; index < 3; index++) await push(client, 'q', 'nap', [1_000, journal.path, index])
  await until('they run', () => node.stats().running === 3)
  blockHost(2_500)
  await until('they are acknowledged', () => node.stats().totals.succeeded === 3)
  await push(client, 'q', 'mark', [journal.path, 'after'])
  await journal.seen('after')
  expect(journal.lines.filter((line) => line.startsWith('+'))).toHaveLength(3)
  const { faktory } = await client.info()
  expect([faktory.sets.retries, faktory.sets.dead]).toEqual([0, 0])
})

describe('Heartbeat', () => {
  const setUp = async (answers: (beat: number) => string) => {
    let beats = 0
    const { url, lines, cut } = await lineServer({ answer: (line) => (line.startsWith('BEAT') ? answers(++beats) : '+OK\r\n') })
    const warnings: string[] = []
    const warn = (message: string): void => void warnings.push(message)
    const identity = { wid: 'w', hostname: 'h', pid: 1, labels: [] }
    const commands = new CommandConnections({ ...endpointOf({ url, tls: undefined }), identity, connections: 1, maxWaiting: 10, warn })
    await commands.start()
    const obeyed: WorkerState[] = []
    let state: NodeStats['state'] = 'running'
    const setState = (next: NodeStats['state']): void => {
      state = next
    }
    const heartbeat = new Heartbeat(commands, { wid: 'w', interval: 60_000, memory: () => 5_000, state: () => state, obey: (each) => obeyed.push(each), warn })
    onTestFinished(async () => {
      heartbeat.stop()
      await commands.close()
    })
    return { heartbeat, lines, warnings, obeyed, cut, setState }
  }

  it.each(['unknown worker w', 'Unknown worker w', 'UNKNOWN  WORKER'])('says HELLO again with the same wid after "%s", and beats', async (text) => {
    const { heartbeat, lines, warnings } = await setUp((beat) => (beat === 1 ? `-ERR ${text}\r\n` : '+OK\r\n'))
    await heartbeat.beat()
    expect(lines.filter((line) => line !== 'END').map((line) => line.split(' ')[0])).toEqual(['HELLO', 'BEAT', 'HELLO', 'BEAT'])
    expect(lines.filter((line) => line.startsWith('HELLO')).every((line) => line.includes('"wid":"w"'))).toBe(true)
    expect(warnings).toEqual([expect.stringContaining('taken this worker for dead')])
  })

  it('obeys a bulk string and a simple string, each state once, and never goes back', async () => {
    const replies = [
      '$17\r\n{"state":"quiet"}\r\n',
      '+{"state":"quiet"}\r\n',
      '+{"state":"terminate"}\r\n',
      '$21\r\n{"state":"terminate"}\r\n',
      '+{"state":"quiet"}\r\n',
    ]
    const { heartbeat, obeyed } = await setUp((beat) => replies[beat - 1]!)
    for (const _ of replies) await heartbeat.beat()
    expect(obeyed).toEqual(['quiet', 'terminate'])
  })

  it('goes on after a beat that the server refuses, and after one that is lost', async () => {
    const { heartbeat, lines, warnings, cut } = await setUp((beat) => (beat === 1 ? '-ERR internal error\r\n' : '+OK\r\n'))
    await heartbeat.beat()
    cut()
    await heartbeat.beat()
    await heartbeat.beat()
    expect(lines.filter((line) => line.startsWith('BEAT')).length).toBeGreaterThanOrEqual(2)
    expect(warnings[0]).toContain('internal error')
  })

  it('says what state the node is in, and how much memory it has', async () => {
    const { heartbeat, lines, setState } = await setUp(() => '+OK\r\n')
    for (const state of ['running', 'paused', 'draining'] as const) {
      setState(state)
      await heartbeat.beat()
    }
    expect(lines.slice(1)).toEqual([
      'BEAT {"wid":"w","rss_kb":5}',
      'BEAT {"wid":"w","current_state":"quiet","rss_kb":5}',
      'BEAT {"wid":"w","current_state":"terminate","rss_kb":5}',
    ])
  })
})
