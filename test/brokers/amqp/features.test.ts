import { expect, it } from 'vitest'
import { consumerTimeoutFor, featureWarnings, readFeatures } from '../../../src/brokers/amqp/features.js'

const rabbit = (version: string) => readFeatures({ product: 'RabbitMQ', version })
const MINUTE = 60_000

it('what a broker can do is told by its version', () => {
  expect(['3.9.29', '3.10.8', '3.11.28', '3.12.0', '4.0.1', '4.3.0-rc.1', '10.0.0'].map((version) => rabbit(version).consumerTimeout)).toEqual([
    false,
    false,
    false,
    true,
    true,
    true,
    true,
  ])
  expect(['3.9.29', '3.10.8', '4.0.1'].map((version) => rabbit(version).safeDelays)).toEqual([false, true, true])
})

it('the timeout asked for has room for the longest job', () => {
  expect(consumerTimeoutFor(undefined)).toBe(24 * 60 * MINUTE)
  expect(consumerTimeoutFor(5 * MINUTE)).toBe(24 * 60 * MINUTE)
  expect(consumerTimeoutFor(48 * 60 * MINUTE)).toBe(48 * 60 * MINUTE)
})

it('warns of what the broker lacks, and of nothing else', () => {
  expect(featureWarnings(rabbit('4.0.1'), undefined)).toEqual([])
  expect(featureWarnings(rabbit('3.10.8'), 10 * MINUTE)).toEqual([])
  expect(featureWarnings(rabbit('3.10.8'), 31 * MINUTE)).toEqual([expect.stringMatching(/consumer_timeout \(30 minutes .* RabbitMQ 3\.12/)])
  expect(featureWarnings(rabbit('3.10.8'), undefined)).toHaveLength(1)
  expect(featureWarnings(rabbit('3.9.29'), 1)).toEqual([expect.stringContaining('older than 3.10')])
  expect(featureWarnings(readFeatures({ product: 'LavinMQ', version: '2.0' }), 1)).toEqual([expect.stringContaining('The broker is LavinMQ 2.0')])
  expect(featureWarnings(readFeatures({}), 1)).toHaveLength(1)
})
