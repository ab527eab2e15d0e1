import { expect, test } from 'vitest'
import type { AmqpChannel } from '../../src/amqp/connection/client.js'
import { permanentError } from '../../src/amqp/connection/connect-errors.js'
import { declareQueue } from '../../src/amqp/topology/topology.js'
import type { FarmPublisher } from '../../src/cli/farm.js'
import { OptionError } from '../../src/util/checks.js'
import { commandLine } from './command-line.js'

const refusing = (code: number) =>
  ({
    assertQueue: () => Promise.reject(Object.assign(new Error('the reason'), { code })),
  }) as unknown as AmqpChannel

const declared = (code: number): Promise<unknown> =>
  declareQueue(refusing(code), 'q', { queueType: 'quorum', priorityLevels: 1, declare: true }).catch((error: unknown) => error)
const tls = (code: string): unknown => permanentError('amqps://host', Object.assign(new Error('why'), { code, reason: 'why' }))

test.each<[what: string, error: unknown, line: RegExp]>([
  [
    'a queue that exists as another',
    await declared(406),
    /^prefork: The queue 'q\.dlq' exists, but not as .+\. Use the --queue-type and --priority-levels that it was declared with, or delete it \(rabbitmqctl delete_queue q\.dlq\) once it is empty\. RabbitMQ said: the reason\n$/,
  ],
  [
    'a queue that may not be made',
    await declared(403),
    /^prefork: The user may not declare the queue 'q\.dlq': grant it \(rabbitmqctl set_permissions\)\. RabbitMQ said: the reason\n$/,
  ],
  ['a certificate not trusted', tls('DEPTH_ZERO_SELF_SIGNED_CERT'), /comes from \(RABBITMQ_TLS_CA\), or the name that it has \(RABBITMQ_TLS_SERVERNAME\)\.\n$/],
  ['a certificate wanted', tls('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /Give it one that it trusts \(RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY\)\.\n$/],
])('%s: the error names flags and variables, not options', async (_, error, line) => {
  const { run, stderr } = commandLine({ farm: { purge: () => Promise.reject(error) } })
  expect(await run('purge', '--yes', '--queue', 'q')).toBe(4)
  expect(stderr.text).toMatch(line)
})

test.each([
  ['tls.ca', "must be the contents of a PEM file: readFileSync('/path')", "RABBITMQ_TLS_CA must name a PEM file, with its line '-----BEGIN …'."],
  ['tls', 'cannot be used: no key', 'RABBITMQ_TLS_CA, _CERT, _KEY and _PASSPHRASE cannot be used: no key.'],
  ['eventExchange', 'must be a name of 1 to 200 bytes', '--worker-exchange or ASYNC_FARM_WORKER_EXCHANGE must be a name of 1 to 200 bytes.'],
  ['maxLosses', 'must be a whole number', '--max-losses must be a whole number.'],
])('an option %s that the library refuses is named by its flag or variable', async (option, reason, line) => {
  const { run, stderr } = commandLine({ farm: { purge: () => Promise.reject(new OptionError(option, reason)) } })
  expect(await run('purge', '--yes', '--queue', 'q')).toBe(2)
  expect(stderr.text).toBe(`prefork: ${line}\n`)
})

test('an option that the command line does not set is named as the library names it', async () => {
  const { run, stderr } = commandLine({ farm: { purge: () => Promise.reject(new OptionError('delayed', 'must be true or false')) } })
  expect(await run('purge', '--yes', '--queue', 'q')).toBe(1)
  expect(stderr.text).toBe("prefork: Option 'delayed' must be true or false.\n")
})

test('without amqplib: names the brokers that need no package', async () => {
  const error = Object.assign(new Error("RabbitMQ is reached through the package 'amqplib', which is not installed beside prefork: npm install amqplib"), {
    code: 'ERR_PREFORK_AMQPLIB_MISSING',
  })
  const { run, stderr } = commandLine({ farm: { createPublisher: () => Promise.reject(error) } })
  expect(await run('publish', 'add', '[1]')).toBe(1)
  expect(stderr.text).toMatch(
    /npm install amqplib\. Jobs are at RabbitMQ unless .*--broker tcp:\/\/.* \(or FAKTORY_URL\) is a Faktory server, --broker sqlite:.* a queue in a file/,
  )
})

test.each(['[9007199254740993]', '[{"a":[-9007199254740993]}]', `[1${'0'.repeat(400)}]`])(
  'an integer that JavaScript would alter is refused: %s',
  async (args) => {
    const { run, stderr } = commandLine()
    expect(await run('publish', 'add', args)).toBe(2)
    expect(stderr.text).toMatch(/^prefork: The number -?\d+ cannot be sent, as it would be read as /)
  },
)

test('other numbers, and digits in texts, are sent', async () => {
  const sent: unknown[] = []
  const createPublisher = async () =>
    ({ publish: async (_: string, args: readonly unknown[]) => void sent.push(args), close: async () => {} }) as unknown as FarmPublisher
  const { run } = commandLine({ farm: { createPublisher } })
  expect(await run('publish', 'add', '[1e300, 0.1, 9007199254740992, "9007199254740993 \\" 9007199254740993", -5]')).toBe(0)
  expect(sent).toEqual([[1e300, 0.1, 9007199254740992, '9007199254740993 " 9007199254740993', -5]])
})
