import amqplib from 'amqplib'
import { afterEach, expect, it, vi } from 'vitest'
import { consumerArguments, consumerTimeoutFor, featureWarnings, readFeatures } from '../../src/amqp/features.js'
import { isolatedTopology, withRabbit } from './rabbit.js'

const rabbit = (version: string) => readFeatures({ product: 'RabbitMQ', version })
const shape = (queueType: 'quorum' | 'classic', declare = true) => ({ queueType, declare, priorityLevels: 1 })
const [QUORUM, CLASSIC] = [shape('quorum'), shape('classic')]
const MINUTE = 60_000

it('the features of a broker follow from its version', () => {
  const from = (feature: 'safeDelays' | 'timeoutPolicy' | 'consumerTimeout', versions: string[]) => versions.filter((version) => rabbit(version)[feature])
  expect(from('safeDelays', ['3.9.29', '3.10.8', '4.0.1'])).toEqual(['3.10.8', '4.0.1'])
  expect(from('timeoutPolicy', ['3.11.28', '3.12.0', '4.0.1'])).toEqual(['3.12.0', '4.0.1'])
  expect(from('consumerTimeout', ['3.12.0', '3.13.7', '4.2.5', '4.3.0-rc.1', '4.3.5', '10.0.0'])).toEqual(['4.3.0-rc.1', '4.3.5', '10.0.0'])
})

it('the requested timeout covers the longest job', () => {
  expect(consumerTimeoutFor(undefined)).toBe(24 * 60 * MINUTE)
  expect(consumerTimeoutFor(5 * MINUTE)).toBe(24 * 60 * MINUTE)
  expect(consumerTimeoutFor(48 * 60 * MINUTE)).toBe(48 * 60 * MINUTE)
})

it('a timeout is requested where the broker supports it, and never of a queue that may be a classic one', () => {
  expect(consumerArguments(rabbit('4.3.0'), QUORUM, MINUTE)).toEqual({ 'x-consumer-timeout': MINUTE })
  expect(consumerArguments(rabbit('4.2.5'), QUORUM, MINUTE)).toEqual({})
  expect(consumerArguments(rabbit('4.3.0'), CLASSIC, MINUTE)).toEqual({})
  expect(consumerArguments(rabbit('4.3.0'), shape('quorum', false), MINUTE)).toEqual({})
  expect(consumerArguments(readFeatures({ product: 'LavinMQ', version: '5.0' }), QUORUM, MINUTE)).toEqual({})
})

it('warns of missing features only', () => {
  expect(featureWarnings(rabbit('3.10.8'), QUORUM, 10 * MINUTE)).toEqual([])
  expect(featureWarnings(rabbit('3.9.29'), QUORUM, 1)).toEqual([expect.stringContaining('older than 3.10')])
  expect(featureWarnings(readFeatures({ product: 'LavinMQ', version: '2.0' }), QUORUM, 1)).toEqual([expect.stringContaining('The broker is LavinMQ 2.0')])
  expect(featureWarnings(readFeatures({}), QUORUM, 1)).toHaveLength(1)
})

it('warns of the consumer timeout wherever a node cannot raise it', () => {
  for (const queues of [QUORUM, CLASSIC]) {
    expect(featureWarnings(rabbit('3.10.8'), queues, undefined)).toHaveLength(1)
    const [old, ...more] = featureWarnings(rabbit('3.11.28'), queues, 31 * MINUTE)
    expect(old).toMatch(/consumer_timeout \(30 minutes unless rabbitmq\.conf says .* or raise it: consumer_timeout in rabbitmq\.conf\. /)
    expect(more).toEqual([])
    for (const version of ['3.12.0', '4.2.5'])
      expect(featureWarnings(rabbit(version), queues, undefined)).toEqual([expect.stringContaining('in rabbitmq.conf, or consumer-timeout in a policy')])
    expect(featureWarnings(rabbit('4.3.0'), queues, undefined)).toEqual([])
  }
  expect(featureWarnings(rabbit('4.3.0'), shape('quorum', false), undefined)).toHaveLength(1)
  expect(featureWarnings(rabbit('4.3.0'), shape('classic', false), undefined)).toEqual([])
})

withRabbit('the arguments with which queues are consumed', () => {
  const { queue, broker, cleanUp } = isolatedTopology()
  afterEach(async () => {
    vi.restoreAllMocks()
    await cleanUp()
  })

  /** The arguments of `basic.consume` when the broker reports this version. */
  const sentTo = (version: string): unknown[] => {
    const sent: unknown[] = []
    const { connect } = amqplib
    vi.spyOn(amqplib, 'connect').mockImplementation(async (...given: Parameters<typeof connect>) => {
      const made = await connect(...given)
      Object.assign(made.connection.serverProperties, { version })
      const open = made.createChannel.bind(made)
      made.createChannel = async () => {
        const channel = await open()
        const consume = channel.consume.bind(channel)
        channel.consume = (name, receive, options) => {
          if (name === queue) sent.push(options?.arguments)
          return consume(name, receive, options)
        }
        return channel
      }
      return made
    })
    return sent
  }

  it.each([
    ['4.2.5', 'quorum', {}],
    ['4.3.0', 'quorum', { 'x-consumer-timeout': 90 * MINUTE }],
    ['4.3.0', 'classic', {}],
  ] as const)('RabbitMQ %s, %s', async (version, queueType, expected) => {
    const sent = sentTo(version)
    const node = await broker({ queueType, consumerTimeout: 90 * MINUTE })
    node.consume(1, () => {})
    await vi.waitFor(() => expect(sent).toEqual([expected]), { timeout: 10_000 })
  })
})
