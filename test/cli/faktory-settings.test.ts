import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/exit.js'
import { VARIABLES } from '../../src/cli/program.js'
import { readBroker, withoutBrokerSecrets } from '../../src/cli/settings/broker.js'
import { readPublishOptions } from '../../src/cli/settings/publish.js'
import type { Environment, Flags } from '../../src/cli/settings/setting.js'
import { nodeFlags, readWork } from '../../src/cli/settings/work.js'
import { argumentsWithoutPasswords } from '../../src/util/redact.js'
import { deferred } from '../../src/util/with-timeout.js'
import { until } from '../fixtures/until.js'
import { commandLine } from './command-line.js'

const URL_ = 'tcp://:s3cret@host:7419'
const FILE = fileURLToPath(import.meta.url)

describe('the address', () => {
  test.each<[Flags, Environment, string]>([
    [{ broker: URL_ }, {}, URL_],
    [{ broker: URL_ }, { RABBITMQ_URL: 'amqp://x', FAKTORY_URL: 'tcp://y' }, URL_],
    [{}, { FAKTORY_URL: 'tcp://y' }, 'tcp://y'],
    [{}, { RABBITMQ_URL: 'tcp+tls://z' }, 'tcp+tls://z'],
    [{}, { FAKTORY_PROVIDER: 'TOGO_URL', TOGO_URL: 'tcp://togo', FAKTORY_URL: 'tcp://y' }, 'tcp://togo'],
    [{ broker: 'amqp://x' }, { FAKTORY_URL: 'tcp://y' }, 'amqp://x'],
  ])('of %o and %o', (flags, env, url) => {
    expect(readBroker(flags, env).url).toBe(url)
  })

  test.each<[Flags, Environment, RegExp]>([
    [{}, { RABBITMQ_URL: 'amqp://x', FAKTORY_URL: 'tcp://y' }, /^RABBITMQ_URL and FAKTORY_URL \(or FAKTORY_PROVIDER\) are both set: say with --broker/],
    [{}, { FAKTORY_URL: 'redis://me:s3cret@y' }, /^FAKTORY_URL must be a URL of the form tcp:\/\/:password@host:7419 \(tcp\+tls:\/\/ for TLS\)\.$/],
    [{}, { FAKTORY_URL: 'tcp://:s3/cret@y' }, /^FAKTORY_URL must be .*: a '\/', '\?' or '#' in the password is written as %2F, %3F, %23\.$/],
    [{ broker: 'tcp://:s3#cret@y:7419' }, {}, /^--broker must be .*in the password is written as/],
    [{}, { FAKTORY_PROVIDER: 'tcp://y' }, /^FAKTORY_PROVIDER must be the name of the variable that holds the URL.*it holds a colon/],
    [{}, { FAKTORY_PROVIDER: 'FAKTORY_PROVIDER' }, /^FAKTORY_PROVIDER must be the name of another variable, which holds the URL.*it holds its own name\.$/],
    [{}, { FAKTORY_PROVIDER: 'NOWHERE' }, /^FAKTORY_PROVIDER names the variable 'NOWHERE', which is not set/],
    [{ broker: 'tcp://host/path' }, {}, /^--broker must be a URL of the form tcp:.*, with nothing behind the port, or \?rejectUnauthorized=false with TLS\.$/],
  ])('is refused: %o and %o', (flags, env, message) => {
    expect(() => readBroker(flags, env)).toThrow(UsageError)
    expect(() => readBroker(flags, env)).toThrow(message)
    expect(() => readBroker(flags, env)).not.toThrow(/s3cret/)
  })
})

describe('the queues', () => {
  const queuesOf = (flags: Flags, env: Environment = {}) => {
    const { queues, weights } = readBroker({ broker: URL_, ...flags }, env)
    return { queues, weights }
  }

  test.each<[Flags, Environment, object]>([
    [{}, {}, { queues: ['default'], weights: undefined }],
    [{ queue: ['critical,default'] }, {}, { queues: ['critical', 'default'], weights: undefined }],
    [{ queue: ['critical', 'default', 'critical'] }, {}, { queues: ['critical', 'default'], weights: undefined }],
    [{ queue: ['critical,1.5', 'default,.5'] }, {}, { queues: ['critical', 'default'], weights: { critical: 1.5, default: 0.5 } }],
    [{ queue: ['v1.5'] }, {}, { queues: ['v1.5'], weights: undefined }],
    [{ queue: ['critical,5', 'default,1'] }, {}, { queues: ['critical', 'default'], weights: { critical: 5, default: 1 } }],
    [{}, { ASYNC_FARM_JOBS_QUEUE: 'critical,5 default,1' }, { queues: ['critical', 'default'], weights: { critical: 5, default: 1 } }],
    [{}, { ASYNC_FARM_JOBS_QUEUE: 'a,b' }, { queues: ['a', 'b'], weights: undefined }],
  ])('of %o and %o', (flags, env, wanted) => {
    expect(queuesOf(flags, env)).toEqual(wanted)
  })

  test.each<[string[], RegExp]>([
    [['a b'], /^--queue must be names of queues, of letters, digits and \. _ -, each with a weight or none; it was given 'a b'\.$/],
    [['critical,5', 'default'], /^--queue: give every queue a weight \(critical,5\), or none\.$/],
    [['critical,5', 'critical,1'], /^--queue names a queue twice\.$/],
    [['a,5,b,1'], /^--queue has several weights in 'a,5,b,1': give each queue a flag of its own, --queue critical,5 --queue default,1\.$/],
    [['critical,0'], /^--queue: the weight of critical must be above 0\.$/],
    [['critical,-1'], /^--queue: the weight of critical must be above 0\.$/],
    [['a,1.5,b,1'], /^--queue has several weights in 'a,1\.5,b,1'/],
  ])('are refused: %o', (queue, message) => {
    expect(() => queuesOf({ queue })).toThrow(message)
  })
})

test('the files of an encrypted connection are read', () => {
  const contents = readFileSync(FILE)
  const env = { FAKTORY_TLS_CA: FILE, FAKTORY_TLS_SERVERNAME: 'faktory.internal', RABBITMQ_TLS_CA: '/nowhere' }
  expect(readBroker({ broker: 'tcp+tls://host' }, env).tls).toEqual({ ca: contents, servername: 'faktory.internal' })
  expect(readBroker({ broker: 'TCP+TLS://host' }, env).tls).toEqual({ ca: contents, servername: 'faktory.internal' })
  expect(() => readBroker({ broker: 'tcp://host' }, env)).toThrow(
    /^FAKTORY_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection: let --broker or FAKTORY_URL begin with tcp\+tls:\/\/\.$/,
  )
})

describe('flags without effect', () => {
  const tasks = ['./farm-tasks.js']
  const work = (flags: Flags, env: Environment = {}) => readWork({ tasks, ...flags }, env, import.meta.dirname)

  test.each<[Flags, RegExp]>([
    [{ queueType: 'quorum' }, /^--queue-type has no effect under Faktory: leave it out\.$/],
    [{ priorityLevels: '2' }, /^--priority-levels has no effect under Faktory/],
    [{ controlExchange: 'c' }, /^--control-exchange has no effect under Faktory/],
    [{ workerExchange: 'w' }, /^--worker-exchange has no effect under Faktory/],
    [{ maxAttempts: '5' }, /^--max-attempts has no effect under Faktory/],
    [{ unknownTask: 'retry' }, /^--unknown-task has no effect under Faktory/],
    [{ unknownTaskTimeout: '5' }, /^--unknown-task-timeout has no effect under Faktory/],
  ])('are refused by work: %o', (flags, message) => {
    expect(() => work({ broker: URL_, ...flags })).toThrow(UsageError)
    expect(() => work({ broker: URL_, ...flags })).toThrow(message)
  })

  test.each<[Flags, RegExp]>([
    [{ wait: true }, /^--wait has no effect under Faktory: leave it out\. It keeps no results/],
    [{ priority: '1' }, /^--priority has no effect under Faktory: leave it out\. Publish urgent jobs to a queue of their own/],
    [{ maxAttempts: '2' }, /^--max-attempts has no effect under Faktory: leave it out\. Its retries are --retry\.$/],
    [{ ttl: '5' }, /^--ttl has no effect under Faktory/],
    [{ timeLimit: '5' }, /^--time-limit has no effect under Faktory/],
    [{ correlationId: 'x' }, /^--correlation-id has no effect under Faktory/],
    [{ retry: '-2' }, /^--retry must be a whole number of at least -1/],
    [{ reserveFor: '30s' }, /^--reserve-for must be a time from 1m to 1d/],
    [{ custom: '[1]' }, /^--custom must be a JSON object/],
    [{ custom: '{"_x":1}' }, /^--custom must be a JSON object.*without names that begin with '_', which are the server's/],
    [{ custom: '{"x":9007199254740993}' }, /^--custom must be a JSON object.*without integers beyond 2\^53 - 1/],
    [{ jid: 'short' }, /^--jid must be an id of at least 8 characters/],
  ])('are refused by publish: %o', (flags, message) => {
    expect(() => readPublishOptions(flags, {}, URL_)).toThrow(message)
  })

  test.each(['amqp://x', 'sqlite:./x.db'])('that are for Faktory are refused for %s', (broker) => {
    for (const flags of [{ control: './x' }, { fetchers: '5' }, { reserveMargin: '5' }, { labels: 'a' }])
      expect(() => readBroker({ broker, ...flags }, {})).toThrow(/^--[\w-]+ is for Faktory: leave it out for (RabbitMQ|a queue in a file)\.$/)
    expect(() => readPublishOptions({ retry: '5' }, {}, broker)).toThrow(/^--retry is for Faktory/)
  })

  test('that are for Faktory need its address', () => {
    expect(() => readBroker({ control: './x' }, {})).toThrow(
      /^--control is for Faktory: say where its server is, with --broker tcp:\/\/:password@host:7419 or FAKTORY_URL\.$/,
    )
  })

  test('--reserve-margin names its maximum', () => {
    expect(() => work({ broker: URL_, reserveMargin: '40s' })).toThrow(/^--reserve-margin must be a time above 0, .*, at most 30s; it was given '40s'\.$/)
  })

  test('the help of work names the defaults under Faktory, and what has no effect there', () => {
    const help = Object.fromEntries(nodeFlags().map(([usage, text]) => [usage.split(' ')[0], text]))
    expect(help['--grace']).toMatch(/; default 15s, Faktory: 25s \(WORKER_SHUTDOWN_GRACE_S\)$/)
    for (const flag of ['--max-attempts', '--unknown-task', '--unknown-task-timeout']) expect(help[flag]).toContain('; not for Faktory')
    expect(help['--max-losses']).not.toContain('Faktory')
    expect(Object.fromEntries(VARIABLES.map(([name, fallback]) => [name, fallback]))).toMatchObject({
      WORKER_SHUTDOWN_GRACE_S: '15, Faktory: 25',
      ASYNC_FARM_JOBS_QUEUE: 'async_farm.jobs; Faktory, a file: default',
    })
  })

  test('the others are options of the node, and of the job', () => {
    const { broker, node } = work(
      { broker: URL_, control: './x', fetchers: '5', reserveMargin: '2s', labels: 'a, b', concurrency: '50', grace: '5' },
      { PREFETCH_PER_WORKER: '70' },
    )
    expect(broker).toMatchObject({ control: './x', fetchers: 5, reserveMargin: 2_000, labels: ['a', 'b'] })
    expect(node).toMatchObject({ concurrency: 50, prefetchPerWorker: 70, shutdownGrace: 5_000 })
    expect(readPublishOptions({ delay: '90d', retry: '-1', reserveFor: '2m', backtrace: '5', custom: '{"a":1}', jid: 'jid-00001' }, {}, URL_)).toEqual({
      delay: 90 * 86_400_000,
      retry: -1,
      reserveFor: 120_000,
      backtrace: 5,
      custom: { a: 1 },
      jid: 'jid-00001',
    })
  })
})

test('the environment of workers has no address with a password', () => {
  const env = {
    FAKTORY_URL: 'tcp://:s3cret@h',
    FAKTORY_PROVIDER: 'TOGO',
    TOGO: 'tcp://:s3cret@h',
    FAKTORY_PASSWORD: 's3cret',
    FAKTORY_TLS_PASSPHRASE: 's3cret',
    A: 'a',
  }
  expect(withoutBrokerSecrets(env)).toEqual({ A: 'a' })
  const open = { FAKTORY_URL: 'tcp://h', FAKTORY_PROVIDER: 'TOGO', TOGO: 'tcp://h' }
  expect(withoutBrokerSecrets(open)).toEqual(open)
})

test('the list of processes shows no password', () => {
  expect(argumentsWithoutPasswords(['work', '--broker', URL_])).toBe('work --broker tcp://:***@host:7419')
  expect(argumentsWithoutPasswords(['work', '--broker=tcp+tls://:s3cret@host'])).toBe('work --broker=tcp+tls://:***@host')
  expect(argumentsWithoutPasswords(['work', '--broker', 'tcp://host'])).toBeUndefined()
})

describe('commands', () => {
  const env = { FAKTORY_URL: URL_ }

  test('publish refuses a weight', async () => {
    const { run, stderr } = commandLine({ env })
    expect(await run('publish', 'add', '[1]', '--queue', 'cli,5')).toBe(2)
    expect(stderr.text).toBe('prefork: --queue: a job goes to one queue, which has no weight here: --queue cli.\n')
  })

  test('dlq list says what the protocol tells', async () => {
    const asked = commandLine({ env, farm: { countDeadLetters: async () => 12 } })
    expect(await asked.run('dlq', 'list')).toBe(0)
    expect(asked.stdout.text).toBe('{"dead":12}\n')
    const shown = commandLine({ env, terminal: true, farm: { countDeadLetters: async () => 1 } })
    expect(await shown.run('dlq', 'list')).toBe(0)
    expect(shown.stdout.text).toBe('1 job is dead, in all queues. Faktory has no command that lists them: its web page does, under /morgue.\n')
    const refused = commandLine({ env })
    expect(await refused.run('dlq', 'list', '--queue', 'mail')).toBe(2)
    expect(refused.stderr.text).toContain('--queue has no effect under Faktory: leave it out. It says only how many jobs are dead in all queues.')
  })

  test('dlq retry names what was not found', async () => {
    const given: unknown[] = []
    const { run, stdout, stderr } = commandLine({
      env,
      farm: {
        retryDeadLetters: async (_, queue, options) => {
          given.push([queue, options])
          return 1
        },
      },
    })
    expect(await run('dlq', 'retry', 'jid-1', 'jid-2')).toBe(1)
    expect(stdout.text).toBe('1 went back to their queues.\n')
    expect(stderr.text).toContain('Not all of these ids are among the dead letters of this server: its web page shows them, under /morgue.')
    expect(await run('dlq', 'retry', '--all', '--queue', 'a,b')).toBe(0)
    expect(stdout.text).toBe('1 went back to their queues.\na: 1 went back\nb: 1 went back\n')
    expect(await run('dlq', 'retry')).toBe(2)
    expect(stderr.text).toContain("Which dead letters? Name their ids (the server's web page shows them, under /morgue) or say --all.")
    expect(given).toEqual([
      ['default', { ids: ['jid-1', 'jid-2'] }],
      ['a', {}],
      ['b', {}],
    ])
    expect(await run('dlq', 'retry', 'jid-1', '--queue', 'a')).toBe(2)
  })

  test('dlq retry --all says where others are dead', async () => {
    const { run, stdout } = commandLine({ env, farm: { retryDeadLetters: async () => 0, countDeadLetters: async () => 9 } })
    expect(await run('dlq', 'retry', '--all')).toBe(0)
    expect(stdout.text).toBe('default: 0 went back\n9 jobs are still dead, in all queues: --queue names others.\n')
  })

  test('publish tells somebody at a terminal what it waits for', async () => {
    const { promise, resolve } = deferred<never>()
    const publisher = { publish: async () => 'j1', call: async () => ({ kind: 'timeout' }) as const, close: async () => {} }
    const { run, stderr } = commandLine({ env, terminal: true, farm: { createPublisher: () => promise } })
    const code = run('publish', 'add', '[1]')
    await until('it has said so', () => stderr.text !== '')
    expect(stderr.text).toBe('prefork: tcp://:***@host:7419 does not answer yet; it is tried for 10 s.\n')
    resolve(publisher as never)
    expect(await code).toBe(0)
  })

  test('publish says that a job is not unique', async () => {
    const close = async () => {}
    const publish = async () => undefined
    const call = async () => ({ kind: 'timeout' }) as const
    const { run, stdout, stderr } = commandLine({ env, farm: { createPublisher: async () => ({ publish, call, close }) } })
    expect(await run('publish', 'add', '[1]')).toBe(0)
    expect([stdout.text, stderr.text]).toEqual(['', 'prefork: Nothing was published: Faktory has such a job already (unique_for).\n'])
  })
})
