import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/cli/exit.js'
import { VARIABLES } from '../../src/cli/program.js'
import type { Environment, Flags } from '../../src/cli/settings/setting.js'
import { readWork } from '../../src/cli/settings/work.js'
import { readNodeOptions } from '../../src/node/options.js'
import { LIMITS } from '../../src/util/limits.js'
import { withoutPassword } from '../../src/util/redact.js'

const HERE = import.meta.dirname
const OWN = basename(fileURLToPath(import.meta.url))
const read = (flags: Flags = {}, env: Environment = {}) => readWork({ tasks: [`./${OWN}`], ...flags }, env, HERE)

test('the defaults', () => {
  const { broker, node, http, tui, logLevel } = read()
  expect(broker).toEqual({
    url: 'amqp://guest:guest@127.0.0.1:5672/',
    queues: ['async_farm.jobs'],
    controlExchange: 'async_farm.supervisor',
    eventExchange: 'async_farm.worker',
    secret: undefined,
    queueType: 'quorum',
    priorityLevels: 1,
  })
  expect(node).toMatchObject({ minWorkers: 1, maxWorkers: 10 })
  expect(node.tasks).toEqual([new URL(import.meta.url)])
  expect([http, tui, logLevel]).toEqual([undefined, false, 'info'])
})

test.each([
  ['PREFETCH_PER_WORKER', '20', { prefetchPerWorker: 20, concurrency: 20 }],
  ['SCALE_UP_BATCH_SIZE', '4', { scaleUpBatch: 4 }],
  ['SCALE_DOWN_BATCH_SIZE', '3', { scaleDownBatch: 3 }],
  ['SCALE_CHECK_INTERVAL_S', '0.5', { scaleCheckInterval: 500 }],
  ['WORKER_SHUTDOWN_GRACE_S', '30', { shutdownGrace: 30_000 }],
  ['HEARTBEAT_INTERVAL_S', '2', { heartbeatInterval: 2_000 }],
  ['MAX_STALL_S', '60', { maxStall: 60_000 }],
  ['MAX_LOSSES', '5', { maxLosses: 5 }],
  ['TASK_HISTORY_MAX', '10', { taskHistory: 10 }],
  ['MIN_WORKERS', '3', { minWorkers: 3, maxWorkers: 10 }],
  ['MIN_WORKERS', '12', { minWorkers: 12, maxWorkers: 12 }],
  ['MAX_WORKERS', '4', { minWorkers: 1, maxWorkers: 4 }],
])('%s=%s', (variable, text, wanted) => {
  expect(read({}, { [variable]: text }).node).toMatchObject(wanted)
  expect(read({}, { [variable]: '' }).node).toEqual(read().node)
})

test('a prefetch that is given as a flag says nothing about the concurrency, nor the other way round', () => {
  expect(read({ prefetch: '7' }).node).not.toHaveProperty('concurrency')
  expect(read({ prefetch: '7' }, { PREFETCH_PER_WORKER: '20' }).node).not.toHaveProperty('concurrency')
  expect(read({ concurrency: '30' }).node).not.toHaveProperty('prefetchPerWorker')
})

test.each([
  [{ prefetch: '7' }, { PREFETCH_PER_WORKER: '20' }, { prefetchPerWorker: 7 }],
  [{ concurrency: '3' }, { PREFETCH_PER_WORKER: '20' }, { prefetchPerWorker: 20, concurrency: 3 }],
  [{ concurrency: '30' }, {}, { concurrency: 30 }],
  [{ scaleUpAfter: '100ms', keepAlive: '2m' }, {}, { scaleUpAfter: 100, keepAlive: 120_000 }],
  [{ workers: '4' }, { MIN_WORKERS: '2', MAX_WORKERS: '3' }, { minWorkers: 4, maxWorkers: 4 }],
  [{ autoscale: '2,6' }, { MAX_WORKERS: '3' }, { minWorkers: 2, maxWorkers: 6 }],
  [{ cancelGrace: '5s' }, {}, { cancelGrace: 5_000 }],
  [{ grace: '500ms' }, { WORKER_SHUTDOWN_GRACE_S: '20' }, { shutdownGrace: 500 }],
  [{ scaleInterval: '2m' }, {}, { scaleCheckInterval: 120_000 }],
  [{ timeLimit: '1.5d' }, {}, { timeLimit: 129_600_000 }],
  [{ maxLosses: '1' }, { MAX_LOSSES: '9' }, { maxLosses: 1 }],
  [{ maxJobsPerWorker: '1000', maxMemoryPerWorker: '300MB' }, {}, { maxJobsPerWorker: 1_000, maxMemoryPerWorker: 300_000_000 }],
  [{ maxMemoryPerWorker: '1.5GiB' }, {}, { maxMemoryPerWorker: 1_610_612_736 }],
  [{ niceness: '5' }, {}, { niceness: 5 }],
  [{ launcher: 'process', sharedMemory: '64MiB' }, {}, { launcher: 'process', sharedMemory: 67_108_864 }],
  [{ sharedMemory: '0' }, {}, { sharedMemory: 0 }],
])('a flag overrides a variable: %o over %o', (flags, env, wanted) => {
  expect(read(flags, env).node).toMatchObject(wanted)
})

test.each([
  [{ logLevel: 'warn' }, { ASYNC_FARM_LOG_LEVEL: 'error' }, 'warn'],
  [{}, { ASYNC_FARM_LOG_LEVEL: ' silent ' }, 'silent'],
  [{ verbose: true }, { ASYNC_FARM_LOG_LEVEL: 'error' }, 'debug'],
  [{ verbose: true, logLevel: 'trace' }, {}, 'trace'],
])('the level of the log: %o over %o', (flags, env, wanted) => {
  expect(read(flags, env).logLevel).toBe(wanted)
})

test.each([
  [{ logLevel: 'loud' }, {}, /^--log-level must be 'trace' or .* or 'silent'; it was given 'loud'\.$/],
  [{ logLevel: '' }, {}, /^--log-level must be/],
  [{}, { ASYNC_FARM_LOG_LEVEL: 'INFO' }, /^ASYNC_FARM_LOG_LEVEL must be 'trace' or/],
])('the level of the log %o %o is refused', (flags, env, message) => {
  expect(() => read(flags, env)).toThrow(message)
})

test('the broker of flags and variables', () => {
  const env = {
    RABBITMQ_URL: 'amqps://rabbit/v',
    ASYNC_FARM_JOBS_QUEUE: 'a, b,a',
    ASYNC_FARM_CONTROL_EXCHANGE: 'c',
    ASYNC_FARM_WORKER_EXCHANGE: 'w',
    ASYNC_FARM_SECRET: ' long enough\n',
  }
  expect(read({}, env).broker).toMatchObject({ url: 'amqps://rabbit/v', queues: ['a', 'b'], controlExchange: 'c', eventExchange: 'w', secret: 'long enough' })
  expect(read({ broker: 'amqp://other', queue: ['x,y', 'z'] }, env).broker).toMatchObject({ url: 'amqp://other', queues: ['x', 'y', 'z'] })
})

test('the files of an encrypted connection are read', () => {
  const url = 'amqps://rabbit/v'
  const file = fileURLToPath(import.meta.url)
  const contents = readFileSync(file)
  expect(read({}, { RABBITMQ_URL: url, RABBITMQ_TLS_CA: file }).broker.tls).toEqual({ ca: contents })
  const all = { RABBITMQ_TLS_CA: file, RABBITMQ_TLS_CERT: file, RABBITMQ_TLS_KEY: file }
  expect(read({ broker: url }, all).broker.tls).toEqual({ ca: contents, cert: contents, key: contents })
  expect(read({ broker: url }, { RABBITMQ_TLS_SERVERNAME: 'rabbit.internal' }).broker.tls).toEqual({ servername: 'rabbit.internal' })
  expect(read({ broker: url }, { ...all, RABBITMQ_TLS_SERVERNAME: 'rabbit.internal' }).broker.tls).toMatchObject({
    ca: contents,
    servername: 'rabbit.internal',
  })
  // White space may be part of a passphrase, but not the newline at the end of a file.
  const passphrase = (given: string) => read({ broker: url }, { ...all, RABBITMQ_TLS_PASSPHRASE: given }).broker.tls?.passphrase
  expect([' opens it ', ' opens it \n', 'opens it\r\n', '', '\n'].map(passphrase)).toEqual([' opens it ', ' opens it ', 'opens it', undefined, undefined])
})

test.each<[Flags, Environment, RegExp]>([
  [
    { broker: 'amqps://x' },
    { RABBITMQ_TLS_CA: '/nowhere/ca.pem' },
    /^RABBITMQ_TLS_CA must be the path of a file that can be read; it was given '\/nowhere\/ca\.pem'\.$/,
  ],
  [{ broker: 'amqps://x' }, { RABBITMQ_TLS_KEY: HERE }, /^RABBITMQ_TLS_KEY must be the path of a file/],
  [{ broker: 'amqps://x' }, { RABBITMQ_TLS_CERT: fileURLToPath(import.meta.url) }, /^RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY come together/],
  [
    {},
    { RABBITMQ_TLS_CA: fileURLToPath(import.meta.url) },
    /^RABBITMQ_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection: let --broker or RABBITMQ_URL begin with amqps/,
  ],
  [{}, { RABBITMQ_TLS_SERVERNAME: 'rabbit' }, /^RABBITMQ_TLS_CA, _CERT, _KEY and _SERVERNAME are for an encrypted connection/],
  [{ broker: 'amqps://x' }, { RABBITMQ_TLS_SERVERNAME: 'a b' }, /^RABBITMQ_TLS_SERVERNAME must be the name in RabbitMQ's certificate, of 1 to 255 characters/],
  [
    { broker: 'amqps://x' },
    { RABBITMQ_TLS_PASSPHRASE: 's3cret' },
    /^RABBITMQ_TLS_PASSPHRASE opens the key that RABBITMQ_TLS_KEY names: set both, or leave it out\.$/,
  ],
  [{ broker: 'sqlite::memory:' }, {}, /^--broker or RABBITMQ_URL must be 'memory:'/],
  [{ broker: 'sqlite://x.db' }, {}, /^--broker or RABBITMQ_URL must be a path after 'sqlite:', without the '\/\/' of a URL: 'sqlite:\.\/x\.db'/],
  [{}, { MIN_WORKERS: 'two' }, /^MIN_WORKERS must be a whole number from 1 to 10000; it was given 'two'\.$/],
  [{}, { MIN_WORKERS: '5', MAX_WORKERS: '2' }, /^MAX_WORKERS must be at least MIN_WORKERS, 5/],
  [{}, { PREFETCH_PER_WORKER: '0' }, /^PREFETCH_PER_WORKER must be a whole number from 1/],
  [{}, { PREFETCH_PER_WORKER: '10001' }, /^PREFETCH_PER_WORKER must be a whole number from 1 to 10000; it was given '10001'\.$/],
  [{ prefetch: '10001' }, {}, /^--prefetch must be a whole number from 1 to 10000; it was given '10001'\.$/],
  [{}, { PREFETCH_PER_WORKER: '1.5' }, /^PREFETCH_PER_WORKER must/],
  [{}, { SCALE_CHECK_INTERVAL_S: '0' }, /^SCALE_CHECK_INTERVAL_S must be a time above 0, in seconds/],
  [{}, { SCALE_CHECK_INTERVAL_S: '-1' }, /^SCALE_CHECK_INTERVAL_S must/],
  [{}, { HEARTBEAT_INTERVAL_S: '9999999' }, /^HEARTBEAT_INTERVAL_S must .* at most 24 days/],
  [{}, { MAX_STALL_S: 'x' }, /^MAX_STALL_S must/],
  [{}, { MAX_LOSSES: '0' }, /^MAX_LOSSES must be a whole number from 1 to 1000/],
  [{}, { TASK_HISTORY_MAX: '1e3' }, /^TASK_HISTORY_MAX must/],
  [{}, { RABBITMQ_URL: 'http://localhost' }, /^RABBITMQ_URL must be the URL of a RabbitMQ, such as amqp:/],
  [{}, { RABBITMQ_URL: 'localhost:5672' }, /^RABBITMQ_URL must/],
  [
    {},
    { RABBITMQ_URL: 'amqp//me:s3cret@host' },
    /^RABBITMQ_URL must be the URL of a RabbitMQ, such as amqp:\/\/user:password@host:5672\/vhost, or of a Faktory server, such as tcp:\/\/:password@host:7419, or a queue in a file, such as sqlite:\.\/jobs\.db\.$/,
  ],
  [{}, { ASYNC_FARM_SECRET: 'short' }, /^ASYNC_FARM_SECRET must be a text of at least 8 characters, without the white space around it\.$/],
  [{}, { ASYNC_FARM_SECRET: ' ' }, /^ASYNC_FARM_SECRET must be a text of at least 8 characters/],
  [{}, { ASYNC_FARM_SECRET: '\t\n' }, /^ASYNC_FARM_SECRET must be a text of at least 8 characters/],
  [{}, { ASYNC_FARM_SECRET: ' short\n   ' }, /^ASYNC_FARM_SECRET must be a text of at least 8 characters/],
  [{}, { ASYNC_FARM_JOBS_QUEUE: 'a,,b' }, /^ASYNC_FARM_JOBS_QUEUE must be the name of a queue .* several/],
  [{}, { ASYNC_FARM_JOBS_QUEUE: 'jobs,amq.jobs' }, /^ASYNC_FARM_JOBS_QUEUE must be .* does not begin with 'amq\.'/],
  [{}, { ASYNC_FARM_WORKER_EXCHANGE: 'amq.direct' }, /^ASYNC_FARM_WORKER_EXCHANGE must be .* does not begin with 'amq\.'/],
  [{}, { ASYNC_FARM_CONTROL_EXCHANGE: 'x'.repeat(201) }, /^ASYNC_FARM_CONTROL_EXCHANGE must be .* 200 bytes/],
  [{ name: 'a,b' }, {}, /^--name must be the name of a node, of letters, digits/],
  [{}, { ASYNC_FARM_CONTROL_EXCHANGE: 'two words' }, /^ASYNC_FARM_CONTROL_EXCHANGE must/],
  [{ workers: '2', autoscale: '1,2' }, {}, /^--workers and --autoscale exclude/],
  [{ autoscale: '4,2' }, {}, /^--autoscale must be two whole numbers from 1 to 10000, least and most/],
  [
    { concurrency: '11', prefetch: '10' },
    {},
    /^--concurrency must be at most the 10 jobs that the node holds for each worker \(--prefetch, PREFETCH_PER_WORKER\)/,
  ],
  [{ concurrency: '11' }, { PREFETCH_PER_WORKER: '10' }, /^--concurrency must be at most the 10 jobs that the node holds/],
  [{ scaleUpAfter: '-1' }, {}, /^--scale-up-after must be/],
  [{ timeLimit: '4s', softTimeLimit: '5s' }, {}, /^--time-limit must be at least/],
  [{ launcher: 'docker' }, {}, /^--launcher must be 'host' or 'process'; it was given 'docker'\.$/],
  [
    { sharedMemory: '-1' },
    {},
    /^--shared-memory must be a size in bytes above 0, or with a unit \(300MB, 1\.5GB, 512MiB\), or 0 for none; it was given '-1'\.$/,
  ],
  [{ niceness: '20' }, {}, /^--niceness must be a whole number from 0 to 19; it was given '20'\.$/],
  [{ maxMemoryPerWorker: '300 apples' }, {}, /^--max-memory-per-worker must be a size in bytes above 0, or with a unit/],
  [{ maxJobsPerWorker: '0' }, {}, /^--max-jobs-per-worker must be a whole number of at least 1/],
  [{ unknownTask: 'drop' }, {}, /^--unknown-task must be 'retry' or 'dead-letter'; it was given 'drop'/],
  [{ http: '70000' }, {}, /^--http must be a whole number from 0 to 65535/],
  [{ httpHost: '0.0.0.0' }, {}, /^--http-host needs --http/],
  [{ tasks: ['./nothing.js'] }, {}, /^--tasks \.\/nothing\.js: there is no such file/],
  [{ tasks: ['nothing-of-this-name'] }, {}, /^--tasks nothing-of-this-name: there is neither such a file .* nor an installed package/],
  [{ root: ['./nothing'] }, {}, /^--root \.\/nothing: there is no such folder/],
  [{ root: [''] }, {}, /^--root must be the path of a folder, several with commas between; it was given ''\.$/],
  [{ import: [' '] }, {}, /^--import must be the path of a module or the name of a package, several with commas between; it was given ' '\.$/],
  [{ tasks: [','] }, {}, /^--tasks must be the path of a module or the name of a package, several with commas between; it was given ','\.$/],
  [{ tasks: undefined }, {}, /^Which tasks\?/],
])('%o with %o is refused', (flags, env, message) => {
  expect(() => read(flags, env)).toThrow(UsageError)
  expect(() => read(flags, env)).toThrow(message)
})

test.each([
  [{ workers: '10000' }, { minWorkers: LIMITS.workers, maxWorkers: LIMITS.workers }],
  [{ autoscale: '1,10000' }, { maxWorkers: LIMITS.workers }],
  [
    { prefetch: '10000', concurrency: '10000' },
    { prefetchPerWorker: LIMITS.jobsPerWorker, concurrency: LIMITS.jobsPerWorker },
  ],
  [
    { scaleUpBatch: '10000', scaleDownBatch: '10000' },
    { scaleUpBatch: LIMITS.workers, scaleDownBatch: LIMITS.workers },
  ],
  [
    { history: '1000000', maxLosses: '1000', maxAttempts: '1000000' },
    { taskHistory: LIMITS.taskHistory, maxLosses: LIMITS.losses, maxAttempts: LIMITS.attempts },
  ],
])('flags accept the same maximum as a node: %o', (flags, wanted) => {
  const { node } = read(flags)
  expect(readNodeOptions(node)).toMatchObject(wanted)
  for (const [flag, most] of Object.entries(flags))
    expect(() => read({ [flag]: most.replace(/\d+$/, (digits) => String(Number(digits) + 1)) })).toThrow(/ from [01] to \d+/)
  for (const [option, most] of Object.entries(wanted)) expect(() => readNodeOptions({ ...node, [option]: most + 1 })).toThrow(/ from [01] to \d+/)
})

test('modules are files or packages, several of them', () => {
  const { node } = read({ tasks: [`./${OWN},command-line.ts`], import: ['vitest/config'], root: ['.'] })
  expect((node.tasks as URL[]).map((url) => basename(url.pathname))).toEqual([OWN, 'command-line.ts'])
  expect(String((node.imports as URL[])[0])).toMatch(/node_modules\/vitest\//)
  expect(String((node.roots as URL[])[0])).toMatch(/\/test\/cli\/$/)
})

test('each variable of the help is read', () => {
  for (const [variable] of VARIABLES) {
    const given: string[] = []
    const env = new Proxy({}, { get: (_, name: string) => void given.push(name) })
    for (const flags of [{}, { broker: 'tcp://host' }]) read(flags, env)
    expect(given).toContain(variable)
  }
})

test('a password is not shown', () => {
  expect(withoutPassword('amqp://me:s3cret@host:5672/v')).toBe('amqp://me:***@host:5672/v')
  expect(withoutPassword('amqp://host/')).toBe('amqp://host/')
})
