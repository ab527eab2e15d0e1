import { expect, test } from 'vitest'
import type { AmqpChannel } from '../../src/amqp/connection/client.js'
import { permanentError } from '../../src/amqp/connection/connect-errors.js'
import { declareQueue } from '../../src/amqp/topology/topology.js'
import { commandLine } from './command-line.js'

const refusing = (code: number) =>
  ({
    assertQueue: () => Promise.reject(Object.assign(new Error('its words'), { code })),
  }) as unknown as AmqpChannel

const declared = (code: number): Promise<unknown> =>
  declareQueue(refusing(code), 'q', { queueType: 'quorum', priorityLevels: 1, declare: true }).catch((error: unknown) => error)
const tls = (code: string): unknown => permanentError('amqps://host', Object.assign(new Error('why'), { code, reason: 'why' }))

test.each<[what: string, error: unknown, line: RegExp]>([
  [
    'a queue that exists as another',
    await declared(406),
    /^prefork: The queue 'q\.dlq' exists, but not as .+\. Use the --queue-type and --priority-levels that it was declared with, or delete it \(rabbitmqctl delete_queue q\.dlq\) once it is empty\. RabbitMQ said: its words\n$/,
  ],
  [
    'a queue that may not be made',
    await declared(403),
    /^prefork: The user may not declare the queue 'q\.dlq': grant it \(rabbitmqctl set_permissions\)\. RabbitMQ said: its words\n$/,
  ],
  ['a certificate not trusted', tls('DEPTH_ZERO_SELF_SIGNED_CERT'), /comes from \(RABBITMQ_TLS_CA\), or the name that it has \(RABBITMQ_TLS_SERVERNAME\)\.\n$/],
  ['a certificate wanted', tls('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /Give it one that it trusts \(RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY\)\.\n$/],
])('%s: the error names flags and variables, not options', async (_, error, line) => {
  const { run, stderr } = commandLine({ farm: { purge: () => Promise.reject(error) } })
  expect(await run('purge', '--yes', '--queue', 'q')).toBe(4)
  expect(stderr.text).toMatch(line)
})
