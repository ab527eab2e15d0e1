import { afterEach, expect, it, onTestFinished } from 'vitest'
import { AmqpBroker } from '../../src/amqp/amqp-broker.js'
import { sign } from '../../src/amqp/control/signature.js'
import { createControlClient } from '../../src/amqp/index.js'
import type { ControlClient } from '../../src/node/broker.js'
import type { Command } from '../../src/runtime/report/commands.js'
import type { FarmEvent } from '../../src/runtime/report/report.js'
import { failure } from '../fixtures/support.js'
import { isolatedControl } from './isolated-control.js'
import { admin, type Overrides, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { tcpProxy } from './tcp-proxy.js'

withRabbit('the control exchange', () => {
  const { keep, settings, controlExchange, eventExchange, cleanUp, node, client, ask } = isolatedControl()
  afterEach(cleanUp)

  it('reaches one node, some, or all; a request to named nodes ends when each has answered', async () => {
    const nodes = [await node('a'), await node('b'), await node('c')]
    const from = await client()
    expect(await ask(from, ['b'], { command: 'ping' }, 20_000)).toEqual([{ node: 'b', ok: true, value: { pong: 'b' } }])
    expect(nodes.map((each) => each.asked.length)).toEqual([0, 1, 0])
    expect((await ask(from, ['a', 'c'], { command: 'stats' }, 20_000)).map((each) => each.node)).toEqual(['a', 'c'])
    expect((await ask(from, 'all', { command: 'ping' }, 500)).map((each) => each.node)).toEqual(['a', 'b', 'c'])
    expect(await ask(from, ['a'], { command: 'restart' }, 20_000)).toEqual([{ node: 'a', ok: false, error: 'not now' }])
    expect(await ask(from, ['unknown'], { command: 'ping' }, 200)).toEqual([])
    expect(await ask(from, [], { command: 'ping' }, 20_000)).toEqual([])
  })

  it('two nodes of one name are both warned; one that reconnects does not find itself', async () => {
    const proxy = await tcpProxy(RABBITMQ_URL)
    const named = async (name: string, overrides: Overrides = {}) => {
      const made = keep(new AmqpBroker(settings(overrides), name))
      const warnings: string[] = []
      made.on('warning', (message) => {
        if (message.startsWith('Another node')) warnings.push(message)
      })
      await made.start()
      await until('it listens', () => made.control.listening)
      return { made, warnings }
    }
    const secret = 'correct horse'
    const first = await named('a', { secret, url: proxy.url })
    const other = await named('b', { secret })
    proxy.shut()
    await until('it is gone', () => !first.made.connected)
    proxy.open()
    await until('it is back', () => first.made.connected && first.made.control.listening)
    expect(await ask(await client(secret), ['a'], { command: 'ping' }, 20_000)).toHaveLength(1)
    expect(first.warnings).toEqual([])
    const second = await named('a', { secret })
    await until('both know', () => first.warnings.length > 0 && second.warnings.length > 0)
    expect(second.warnings[0]).toBe(
      "Another node is named 'a' as well: commands to that name reach both, and operators see them as one. Give each node a unique name, or omit the name to have one generated.",
    )
    // With another secret as well.
    const third = await named('b', { secret: 'wrong horse' })
    await until('both know', () => other.warnings.length > 0 && third.warnings.length > 0)
    expect(first.warnings).toHaveLength(1)
    await proxy.close()
  })

  it('carries answers of the size of a profile, signed', async () => {
    const { control } = await node('a', 'correct horse')
    const value = { worker: 1, profile: 'ü'.repeat(2_000_000) }
    control.onCommand(async () => value)
    expect(await ask(await client('correct horse'), ['a'], { command: 'profile', worker: 1 }, 20_000)).toEqual([{ node: 'a', ok: true, value }])
  })

  it('a node with a secret accepts only commands signed with it', async () => {
    const { asked } = await node('a', 'correct horse')
    const shutdown: Command = { command: 'shutdown' }
    const [unsigned] = await ask(await client(), ['a'], shutdown, 20_000)
    expect(unsigned).toEqual({ node: 'a', ok: false, error: 'The node refused the command: this node wants commands that are signed with the shared secret.' })
    const [wrong] = await ask(await client('wrong horse'), ['a'], shutdown, 20_000)
    expect(wrong).toEqual({ node: 'a', ok: false, error: 'The node refused the command: the secret is wrong.' })
    expect(asked).toEqual([])
    // As read from a file, with a line end.
    const [right] = await ask(await client(' correct horse\n'), ['a'], shutdown, 20_000)
    expect(right).toEqual({ node: 'a', ok: true, value: { pong: 'a' } })
    expect(asked).toEqual([shutdown])
  })

  it('an intercepted command cannot be sent again, nor another with its signature; an old one is refused', async () => {
    const { asked } = await node('a', 'correct horse')
    const { onChannel, close } = await admin()
    const answers: string[] = []
    await onChannel(async (channel) => {
      const { queue } = await channel.assertQueue('', { exclusive: true })
      await channel.consume(queue, (message) => answers.push(message!.content.toString()), { noAck: true })
      const send = (body: Buffer, headers: object): void => void channel.publish(controlExchange, '', body, { headers, replyTo: queue })
      const ping = Buffer.from(JSON.stringify({ to: 'all', command: { command: 'ping' } }))
      const headers = sign('correct horse', ping)
      send(ping, headers)
      send(ping, headers)
      send(Buffer.from(JSON.stringify({ to: 'all', command: { command: 'shutdown' } })), headers)
      send(ping, { ...headers, signed_at: Number(headers.signed_at) - 120_000 })
      send(Buffer.from('not JSON'), {})
      send(Buffer.from('{"to":"all"}'), {})
      await until('four are answered', () => answers.length === 4)
    })
    await close()
    expect(answers.map((each) => (JSON.parse(each) as { error?: string }).error)).toEqual([
      undefined,
      'The node refused the command: the command was seen before.',
      'The node refused the command: the secret is wrong.',
      'The node refused the command: the secret is wrong.',
    ])
    expect(asked.length).toBe(1)
  })

  it('events reach each listener, until it stops', async () => {
    const { control } = await node('a')
    const from = await client()
    const received: FarmEvent[] = []
    const event: FarmEvent = { type: 'task.received', node: 'a', at: 1, id: 'i', name: 'n', queue: 'q', counts: { attempt: 1, losses: 0, requeues: 0 } }
    const stop = await from.listen((each) => received.push(each))
    await until('the node can publish', () => {
      control.emit({ ...event, at: 2 })
      return received.length > 0
    })
    expect(received[0]).toEqual({ ...event, at: 2 })
    await stop()
    const before = received.length
    control.emit({ ...event, at: 3 })
    await ask(from, ['a'], { command: 'ping' }, 20_000)
    expect(received.slice(before)).toEqual([])
  })

  it('an error of a listener is an uncaught exception, and neither later events nor other listeners are affected', async () => {
    const from = await client()
    const usual = process.rawListeners('uncaughtException') as ((error: Error) => void)[]
    const uncaught: string[] = []
    process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error.message))
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const each of usual) process.on('uncaughtException', each)
    })
    const received: string[] = []
    const failing: string[] = []
    const idOf = (event: FarmEvent): string => ('id' in event ? event.id : '')
    await from.listen((each) => {
      failing.push(idOf(each))
      throw new Error(`cannot take ${idOf(each)}`)
    })
    await from.listen((each) => received.push(idOf(each)))
    const event = (id: string): FarmEvent => ({ type: 'task.revoked', node: 'a', at: 1, id, name: 'n', worker: 1, duration: 0 })
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      // One after another, and two in one message.
      for (const ids of [['1', '2'], ['3']]) channel.publish(eventExchange, 'event', Buffer.from(JSON.stringify(ids.map(event))))
    })
    await close()
    await until('both have received all', () => received.length >= 3 && failing.length >= 3)
    expect([received, failing]).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ])
    await until('they surface', () => uncaught.length >= 3)
    expect(uncaught).toEqual(['cannot take 1', 'cannot take 2', 'cannot take 3'])
  })

  it('malformed events, which any client may publish, do not reach listeners', async () => {
    const from = await client()
    const received: FarmEvent[] = []
    const stop = await from.listen((each) => received.push(each))
    const event: FarmEvent = { type: 'task.revoked', node: 'a', at: 1, id: 'i', name: 'n', worker: 1, duration: 0 }
    const bad = [
      null,
      7,
      'event',
      [event],
      { ...event, name: 7 },
      { ...event, node: {} },
      { type: 'node.heartbeat', node: 'a', at: 1, stats: { workers: [null] } },
    ]
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      for (const body of [Buffer.from('{'), Buffer.from('null'), Buffer.from(JSON.stringify([...bad, event]))]) channel.publish(eventExchange, 'event', body)
    })
    await close()
    await until('the valid one is received', () => received.length > 0)
    expect(received).toEqual([event])
    await stop()
  })

  it('events are sent in batches, in order; without a listener none is encoded', async () => {
    const { control } = await node('a')
    const event: FarmEvent = { type: 'task.revoked', node: 'a', at: 0, id: 'i', name: 'n', worker: undefined, duration: 0 }
    const beat: FarmEvent = { type: 'node.heartbeat', node: 'a', at: 0, stats: { encoded: 0 } as never }
    let encoded = 0
    const counted: FarmEvent = Object.defineProperty({ ...event }, 'toJSON', { value: () => ++encoded && event })
    const encodedOf500 = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 10))
      encoded = 0
      for (let n = 0; n < 500; n++) control.emit(counted)
      return encoded
    }
    await until('it can publish', async () => (await encodedOf500()) > 0)
    await until('it has found no listener', async () => (await encodedOf500()) === 0)
    const { onChannel, close } = await admin()
    await onChannel(async (channel) => {
      const { queue } = await channel.assertQueue('', { exclusive: true })
      await channel.bindQueue(queue, eventExchange, 'event')
      const messages: FarmEvent[][] = []
      await channel.consume(queue, (message) => messages.push(JSON.parse(message!.content.toString()) as FarmEvent[]), { noAck: true })
      // The listener has not announced itself: the next heartbeat finds it.
      await until('a heartbeat is received', () => {
        control.emit(beat)
        return messages.length > 0
      })
      await until('the node knows', async () => {
        control.emit({ ...event, id: 'known' })
        await new Promise((resolve) => setTimeout(resolve, 10))
        return messages.flat().some((each) => each.type === 'task.revoked' && each.id === 'known')
      })
      messages.length = 0
      const ids = Array.from({ length: 1_200 }, (_, n) => `e${n}`)
      for (const id of ids) control.emit({ ...event, id })
      const numbered = (): string[] => messages.flat().flatMap((each) => (each.type === 'task.revoked' && /^e/.test(each.id) ? [each.id] : []))
      await until('all are received', () => numbered().length >= ids.length)
      expect(numbered()).toEqual(ids)
      expect(Math.max(...messages.map((each) => each.length))).toBe(500)
    })
    await close()
    const from = await client()
    const received: FarmEvent[] = []
    const stop = await from.listen((each) => received.push(each))
    await until('it is received', () => {
      control.emit(event)
      return received.length > 0
    })
    await stop()
  })

  it('an operator waits for the first connection up to connectTimeout, and reconnects when it is lost later', async () => {
    const proxy = await tcpProxy(RABBITMQ_URL)
    try {
      const from = async (connectTimeout: number): Promise<ControlClient> =>
        keep(await createControlClient({ url: proxy.url, controlExchange, eventExchange, connectTimeout }))
      proxy.shut()
      expect(await failure(from(300))).toMatchObject({
        name: 'BrokerError',
        message: expect.stringMatching(
          new RegExp(
            `^RabbitMQ at amqp://guest:\\*\\*\\*@127\\.0\\.0\\.1:${new URL(proxy.url).port}/ could not be reached within 300 ms: .+ 'connectTimeout' how long\\.$`,
          ),
        ),
      })
      const waiting = from(20_000)
      proxy.open()
      const operator = await waiting
      await node('a')
      expect(await ask(operator, ['a'], { command: 'ping' }, 20_000)).toHaveLength(1)
      proxy.cut()
      await until('it has come back', async () => (await ask(operator, ['a'], { command: 'ping' }, 500).catch(() => [])).length === 1)
    } finally {
      await proxy.close()
    }
  })

  it('refuses calls once it is closed or closing', async () => {
    const from = await client()
    const closing = from.close()
    const refused = (call: string) => ({ name: 'BrokerError', message: `${call} is refused: the control client is closed or closing.` })
    for (const state of ['closing', 'closed']) {
      if (state === 'closed') await closing
      expect(await failure(ask(from, ['a'], { command: 'ping' }, 20_000)), state).toMatchObject(refused('ask'))
      expect(await failure(from.listen(() => {})), state).toMatchObject(refused('listen'))
    }
    await from.close()
  })

  it('calls that wait for RabbitMQ are rejected when the client is closed', async () => {
    const proxy = await tcpProxy(RABBITMQ_URL)
    try {
      const from = keep(await createControlClient({ url: proxy.url, controlExchange, eventExchange }))
      expect(from.connected).toBe(true)
      proxy.shut()
      await until('it has seen the cut', async () => /could not be reached/.test(String(await ask(from, ['a'], { command: 'ping' }, 50).catch(String))))
      expect(from.connected).toBe(false)
      const waiting = [failure(ask(from, ['a'], { command: 'ping' }, 600_000)), failure(from.listen(() => {}))]
      await from.close()
      const refusal = 'is refused: the control client is closed or closing.'
      expect((await Promise.all(waiting)).map(String)).toEqual([`BrokerError: ask ${refusal}`, `BrokerError: listen ${refusal}`])
    } finally {
      await proxy.close()
    }
  })

  it('an invalid request is refused at once', async () => {
    const from = await client()
    const ping = { command: 'ping' }
    const wanted: [string, ...unknown[]][] = [
      ["Option 'to' must be an array of the names of nodes, ['a1'], or 'all'; it was given 'a1'.", 'a1', ping],
      ["Option 'to' must be an array of the names of nodes or 'all'; it was given undefined.", undefined, ping],
      ["Option 'to[1]' must be the name of a node; it was given 5.", ['a1', 5], ping],
      ["Option 'to[0]' must be the name of a node; it was given ''.", [''], ping],
      ["Option 'command' must be an object, as in { command: 'ping' }; it was given null.", ['a1'], null],
      ["Option 'command' must be an object, as in { command: 'ping' }; it was given undefined.", ['a1']],
      ["Option 'command' must be an object, as in { command: 'stats' }; it was given 'stats'.", ['a1'], 'stats'],
      ["Option 'command.command' must be the name of a command, as in { command: 'ping' }; it was given undefined.", ['a1'], { comand: 'ping' }],
      ["Unknown option 'timout' of client.ask; did you mean 'timeout'? It has: timeout.", ['a1'], ping, { timout: 200 }],
      ["Option 'timeout' must be a number of milliseconds above 0 and at most 2147483647; it was given '2s'.", ['a1'], ping, { timeout: '2s' }],
      ["Option 'options' must be an object; it was given 200.", ['a1'], ping, 200],
    ]
    for (const [message, ...given] of wanted) expect(() => from.ask(...(given as Parameters<ControlClient['ask']>))).toThrow(new TypeError(message))
  })

  it('explains what is wrong with an option', async () => {
    await expect(createControlClient({ connectTimeout: 0 })).rejects.toThrow(/^Option 'connectTimeout' must be a number of milliseconds above 0/)
    await expect(createControlClient({ secrt: 'x' } as never)).rejects.toThrow(/Unknown option 'secrt' of createControlClient; did you mean 'secret'\?/)
    for (const secret of ['tooshrt', ' tooshrt ', '         ', '\t\n', ''])
      expect(await createControlClient({ secret }).catch((error: Error) => error.message)).toBe(
        "Option 'secret' must be a text of at least 8 characters, without the white space around it.",
      )
  })
})
