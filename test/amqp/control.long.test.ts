import { afterEach, expect, it } from 'vitest'
import { AmqpBroker } from '../../src/amqp/amqp-broker.js'
import type { FarmEvent } from '../../src/runtime/report/report.js'
import { scriptedStats } from '../fixtures/scripted-node.js'
import { failure, within } from '../fixtures/support.js'
import { isolatedControl } from './isolated-control.js'
import { admin, RABBITMQ_URL, until, withRabbit } from './rabbit.js'
import { tcpProxy } from './tcp-proxy.js'

withRabbit('the control exchange', () => {
  const { keep, settings, controlExchange, eventExchange, cleanUp, node, client, ask } = isolatedControl()
  afterEach(cleanUp)

  it('is declared again, with the nodes bound to it, when it was deleted', async () => {
    await node('a')
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.deleteExchange(controlExchange))
    await close()
    const from = await client()
    await until('it answers again', async () => (await ask(from, ['a'], { command: 'ping' }, 200)).length === 1)
  })

  it('listeners receive events again when the event exchange was deleted', async () => {
    const { control } = await node('a')
    const from = await client()
    const received: FarmEvent[] = []
    const stop = await from.listen((each) => received.push(each))
    const receiving = async (): Promise<boolean> => {
      control.emit({ type: 'node.heartbeat', node: 'a', at: 0, stats: scriptedStats() })
      await new Promise((resolve) => setTimeout(resolve, 20))
      return received.length > 0
    }
    await until('it receives events', receiving)
    const { onChannel, close } = await admin()
    await onChannel((channel) => channel.deleteExchange(eventExchange))
    await close()
    received.length = 0
    await until('it receives events again', receiving)
    await stop()
  })

  it('a command that arrives before the node can publish is answered as soon as it can', async () => {
    const proxy = await tcpProxy(RABBITMQ_URL)
    let publishNow = (): void => {}
    const mute = new Promise<void>((resolve) => {
      publishNow = resolve
    })
    // confirm.select is sent on the publishing connection only.
    proxy.before(85, 10, () => mute)
    try {
      const made = keep(new AmqpBroker(settings({ url: proxy.url }), 'a'))
      let asked = 0
      made.control.onCommand(async () => ++asked)
      await made.connect()
      await until('it listens', () => made.control.listening)
      const answers = ask(await client(), ['a'], { command: 'ping' }, 20_000)
      await until('it has been asked', () => asked > 0)
      publishNow()
      expect(await within(answers, 10_000)).toEqual([{ node: 'a', ok: true, value: 1 }])
    } finally {
      publishNow()
      await proxy.close()
    }
  })

  it('a command that the client does not know is sent: the node may be of a later version', async () => {
    const { asked } = await node('a')
    expect(await ask(await client(), ['a'], { command: 'dance' } as never, 20_000)).toEqual([{ node: 'a', ok: true, value: { pong: 'a' } }])
    expect(asked).toEqual([{ command: 'dance' }])
  })

  it('a listener that is no function is refused', async () => {
    const from = await client()
    expect(await failure(from.listen(5 as never))).toEqual(new TypeError('client.listen(listener): the listener must be a function.'))
  })
})
