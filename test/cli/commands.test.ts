import { expect, test } from 'vitest'
import { MAX_DELAY } from '../../src/amqp/topology/delay-steps.js'
import type { Farm, FarmPublisher, PublishOptions } from '../../src/cli/farm.js'
import { controlClientOf, ScriptedNode } from '../fixtures/scripted-node.js'
import { commandLine } from './command-line.js'

const controlled = (...nodes: ScriptedNode[]) => commandLine({ farm: { createControlClient: async () => controlClientOf(...nodes) } })

test.each([
  [['ping'], { command: 'ping' }],
  [['snapshot'], { command: 'snapshot' }],
  [['stats'], { command: 'stats' }],
  [['shutdown', '--all'], { command: 'shutdown' }],
  [['shutdown', '--grace', '30s', '--all'], { command: 'shutdown', grace: 30_000 }],
  [['shutdown', '--grace', '0', '--all'], { command: 'shutdown', grace: 0 }],
  [['quiet', '--all'], { command: 'quiet' }],
  [['pause', '--all'], { command: 'pause' }],
  [['resume', '--all'], { command: 'resume' }],
  [['grow', '--all'], { command: 'grow' }],
  [['grow', '3', '--all'], { command: 'grow', by: 3 }],
  [['shrink', '2', '--all'], { command: 'shrink', by: 2 }],
  [['autoscale', '2,8', '--all'], { command: 'autoscale', min: 2, max: 8 }],
  [['restart', '--all'], { command: 'restart' }],
  [['revoke', 'the-id', '--all'], { command: 'revoke', id: 'the-id', terminate: false }],
  [['revoke', 'the-id', '--terminate', '--all'], { command: 'revoke', id: 'the-id', terminate: true }],
  [['rate_limit', '10/s', '--task', 'mail', '--all'], { command: 'rate_limit', task: 'mail', limit: '10/s' }],
  [['rate_limit', 'none', '--queue', 'q', '--all'], { command: 'rate_limit', queue: 'q', limit: null }],
  [['stack', '4'], { command: 'stack', worker: 4 }],
  [['profile', '4'], { command: 'profile', worker: 4 }],
  [['profile', '4', '--ms', '200'], { command: 'profile', worker: 4, ms: 200 }],
])('control %j', async (typed, command) => {
  const node = new ScriptedNode()
  expect(await controlled(node).run('control', ...typed)).toBe(0)
  expect(node.asked).toEqual([command])
})

test.each([
  [['control', 'shutdown'], /^prefork: shutdown needs an address: --node NAME .* or --all/],
  [['control', 'pause', '--node', 'a', '--all'], /--node and --all exclude each other/],
  [['control', 'grow', '0', '--all'], /The number of workers must be a whole number from 1/],
  [['control', 'autoscale', '8,2', '--all'], /The bounds must be two whole numbers/],
  [['control', 'rate_limit', '10', '--task', 'x', '--all'], /The limit must be a rate such as 10\/s/],
  [['control', 'rate_limit', '10/s', '--all'], /rate_limit wants one of --task NAME and --queue NAME/],
  [['control', 'revoke', '--all'], /revoke wants an id, or --key KEY/],
  [['control', 'revoke', '--key', 'k', '--queue', 'q', '--all'], /revoke wants no --queue with --key/],
  [['control', 'png'], /unknown command 'png' \(Did you mean ping\?\)\. Try: prefork control --help/],
  [['wrok'], /unknown command 'wrok' \(Did you mean work\?\)\. Try: prefork --help/],
  [['work', '--wokers', '2'], /unknown option '--wokers' \(Did you mean --workers\?\)\. Try: prefork work --help/],
  [['control', '--broker', 'amqp://a', 'ping'], /'--broker': the flags of 'control ping' stand after it, not before\. Try: prefork control ping --help/],
  [['dlq', '--broker=amqp://a', 'list'], /the flags of 'dlq list' stand after it, not before\. Try: prefork dlq list --help/],
  [['--broker', 'amqp://a', 'work'], /'--broker': the flags of 'work' stand after it, not before\. Try: prefork work --help/],
  [['control', 'ping', '--brokr', 'amqp://a'], /unknown option '--brokr' \(Did you mean --broker\?\)\. Try: prefork control ping --help/],
  [['publish', 'add', '[1]', '[2]'], /Expected 2 arguments but got 3\. Try: prefork publish --help/],
  [['publish', 'add', '{"a":1}'], /must be a JSON array, one element each; for a single one: '\[\{"a":1\}\]'/],
  [['publish', 'add', '[1'], /must be a JSON array, such as '\[1, "two"\]'; this is no JSON/],
  [['publish', '', '[]'], /The task must be the name of a task; it was given ''/],
  [['publish', 'add', `${'['.repeat(300)}${']'.repeat(300)}`], /The arguments cannot be sent: .* is nested more than 256 deep/],
  [['publish', 'add', '--delay', 'soon'], /--delay must be a time of at least 0, .*; it was given 'soon'/],
  [['publish', 'add', '--delay', '30.1d'], /--delay must be .*, at most 30 days; it was given '30\.1d'/],
  [['publish', 'add', '--ttl', '25d'], /--ttl must be .*, at most 24 days; it was given '25d'/],
  [['publish', 'add', '--delay', '2s', '--ttl', '1s'], /--ttl must be more than --delay/],
  [['publish', 'add', '--delay', '2s', '--ttl', '2s'], /--ttl must be more than --delay/],
  [['publish', 'add', '--soft-time-limit', '5s', '--time-limit', '1s'], /--time-limit must be at least --soft-time-limit/],
  [['purge'], /removes every job that waits in async_farm\.jobs, for good: say --yes/],
  [['dlq', 'retry'], /Which dead letters\?/],
  [['dlq', 'list', '--limit', '0'], /--limit must be a whole number from 1/],
])('%j is refused in one line', async (typed, message) => {
  const { run, stderr, stdout } = commandLine()
  expect(await run(...typed)).toBe(2)
  expect(stderr.text).toMatch(message)
  expect(stderr.text.trimEnd()).not.toContain('\n')
  expect(stdout.text).toBe('')
})

test.each([
  ['publish', 'add'],
  ['control', 'ping'],
  ['purge', '--yes'],
  ['dlq', 'list'],
  ['dlq', 'retry', '--all'],
])('%s %s -v prints the stack of an error', async (...typed) => {
  const refuse = () => Promise.reject(new Error('no luck'))
  const farm = { createPublisher: refuse, createControlClient: refuse, purge: refuse, listDeadLetters: refuse, retryDeadLetters: refuse }
  for (const [flags, wanted] of [
    [[], /^prefork: no luck\n$/],
    [['--verbose'], /^prefork: no luck\nError: no luck\n +at /],
    [['-v'], /^prefork: no luck\nError: no luck\n +at /],
  ] as const) {
    const { run, stderr } = commandLine({ farm })
    expect(await run(...typed, ...flags)).toBe(1)
    expect(stderr.text).toMatch(wanted)
  }
})

test('each answer is a line of JSON; a refusal and a missing answer have their own exit codes', async () => {
  const [alpha, beta] = [new ScriptedNode(), new ScriptedNode({ node: 'beta' })]
  beta.answers.ping = new Error('no')
  const both = controlled(alpha, beta)
  expect(await both.run('control', 'ping')).toBe(6)
  expect(both.stdout.text).toBe('{"node":"alpha","ok":true,"value":"ok"}\n{"node":"beta","ok":false,"error":"no"}\n')
  const one = controlled(alpha, beta)
  expect(await one.run('control', 'pause', '--node', 'alpha,gamma')).toBe(5)
  expect(one.stdout.text).toBe('{"node":"alpha","ok":true,"value":"ok"}\n')
  expect(one.stderr.text).toMatch(/No answer within 10 s from gamma\..*ASYNC_FARM_SECRET/)
  const none = controlled()
  expect(await none.run('control', 'ping')).toBe(5)
  expect(none.stderr.text).toMatch(/No node answered within 2 s/)
  expect(await none.run('control', 'ping', '--node', 'alpha', '--broker', 'sqlite:./jobs.db')).toBe(5)
  expect(none.stderr.text).toContain('No node alpha is at work on sqlite:./jobs.db, or it does not answer within 10 s.')
})

const publishing = (publisher: Partial<FarmPublisher>) => {
  const published: [name: string, args: readonly unknown[], options?: PublishOptions][] = []
  let closed = 0
  const whole: FarmPublisher = {
    async publish(...given) {
      published.push(given)
      return 'the-id'
    },
    async call(...given) {
      published.push(given)
      return { kind: 'result', value: { sum: 3n, of: new Map([['a', 1]]) } }
    },
    async close() {
      closed++
    },
    ...publisher,
  }
  const createPublisher: Farm['createPublisher'] = async () => whole
  return { ...commandLine({ farm: { createPublisher } }), published, closed: () => closed }
}

test('publish prints the id', async () => {
  const { run, stdout, published, closed } = publishing({})
  expect(await run('publish', 'add', '[1, "two"]', '--delay', '5s', '--priority', '3', '--ttl', '1m')).toBe(0)
  expect(stdout.text).toBe('the-id\n')
  expect(published).toMatchObject([['add', [1, 'two'], { delay: 5_000, priority: 3, ttl: 60_000 }]])
  expect(closed()).toBe(1)
})

test('a delay may be as long as the delay queues keep a job', async () => {
  const { run, published } = publishing({})
  expect(await run('publish', 'add', '--delay', '30d')).toBe(0)
  expect(published[0]![2]).toMatchObject({ delay: MAX_DELAY })
})

test('the length of an id is counted in bytes, as AMQP does', async () => {
  const { run, stderr, published } = publishing({})
  const most = `${'\u00e9'.repeat(127)}x`
  expect(await run('publish', 'add', '--correlation-id', most)).toBe(0)
  expect(published[0]![2]).toMatchObject({ correlationId: most })
  expect(await run('publish', 'add', '--correlation-id', `${most}x`)).toBe(2)
  expect(stderr.text).toMatch(/^prefork: --correlation-id must be an id of 1 to 255 bytes of UTF-8 without white space; it was given '/)
  expect(published).toHaveLength(1)
})

test('publish --wait prints the result, or the reason why there is none', async () => {
  const good = publishing({})
  expect(await good.run('publish', 'add', '--wait')).toBe(0)
  expect(JSON.parse(good.stdout.text)).toEqual({ sum: '3', of: { a: 1 } })
  const bad = publishing({ call: async () => ({ kind: 'failed', error: new RangeError('too many') }) })
  expect(await bad.run('publish', 'add', '--wait')).toBe(6)
  expect(bad.stderr.text).toBe('prefork: add failed: RangeError: too many\n')
  const unsendable = Object.assign(new Error('The job has succeeded, but …'), { name: 'SerializationError', code: 'ERR_PREFORK_SERIALIZATION' })
  const odd = publishing({ call: async () => ({ kind: 'failed', error: unsendable }) })
  expect(await odd.run('publish', 'add', '--wait')).toBe(6)
  expect(odd.stderr.text).toBe('prefork: add: SerializationError: The job has succeeded, but …\n')
  const late = publishing({ call: async () => ({ kind: 'timeout' }) })
  expect(await late.run('publish', 'add', '--wait', '--timeout', '20ms')).toBe(5)
  expect(late.stderr.text).toMatch(
    /No answer within 0\.02 s\. The job may still run: is a node at work on this queue, and knows the task\? prefork dlq list shows/,
  )
  const error = "TaskNotFoundError: There is no task 'ad'."
  const unknown = publishing({ call: async () => ({ kind: 'timeout', job: { id: 'j-1', state: 'delayed', error } }) })
  expect(await unknown.run('publish', 'ad', '--wait', '--timeout', '20ms')).toBe(5)
  expect(unknown.stderr.text).toContain(
    `No answer within 0.02 s. The job goes on; it is delayed now. Its last error: ${error} prefork queue show j-1 tells more; --timeout 5m waits longer.`,
  )
  const held = publishing({ call: async () => ({ kind: 'unconfirmed' }) })
  expect(await held.run('publish', 'add', '--wait', '--timeout', '5s')).toBe(4)
  expect(held.stderr.text).toMatch(/^prefork: RabbitMQ did not confirm the job within 5 s, so that it may be stored or not\./)
  const away = publishing({ publish: () => Promise.reject(Object.assign(new Error('the broker is away'), { code: 'ERR_PREFORK_BROKER' })) })
  expect(await away.run('publish', 'add')).toBe(4)
  expect([good.closed(), bad.closed(), late.closed()]).toEqual([1, 1, 1])
})

test('dead letters: readable lines on a terminal, JSON elsewhere; retried by id or all', async () => {
  const letter = {
    id: 'd1',
    task: 'mail\n\u202e',
    queue: 'q',
    reason: 'failed',
    error: 'Error: no\x1b[2J',
    stack: 'Error: no\n    at mail (tasks.js:1:1)',
    attempts: [{ attempt: 3, at: 0, node: 'n', outcome: 'failed' as const, error: 'Error: no' }],
    at: 0,
    node: 'n',
    args: [1],
    attempt: 3,
    losses: 0,
    requeues: 0,
  }
  const asked: unknown[] = []
  const farm: Partial<Farm> = {
    async listDeadLetters(_broker, _queue, options) {
      asked.push(options)
      return [letter]
    },
    async retryDeadLetters(_broker, _queue, options) {
      asked.push(options)
      return 1
    },
  }
  const piped = commandLine({ farm })
  expect(await piped.run('dlq', 'list')).toBe(0)
  expect(JSON.parse(piped.stdout.text)).toEqual(letter)
  expect(piped.stdout.text).toContain('"mail\\n\\u202e"')
  const terminal = commandLine({ farm, terminal: true })
  expect(await terminal.run('dlq', 'list', '--limit', '5')).toBe(0)
  const title = '1970-01-01T00:00:00.000Z  d1  mail\\n\\u202e  q  failed  attempt 3, losses 0  Error: no\\x1b[2J'
  const details = ['attempt 3, 1970-01-01T00:00:00.000Z on n: failed, Error: no', 'Error: no', '    at mail (tasks.js:1:1)']
  expect(terminal.stdout.text.split('\n')).toEqual([title, ...['arguments [1]', ...details].map((each) => `    ${each}`), '1 shown (--limit 5).', ''])
  const secret = commandLine({ farm, terminal: true })
  expect(await secret.run('dlq', 'list', '--limit', '5', '--no-arguments')).toBe(0)
  expect(secret.stdout.text.split('\n')).toEqual([title, ...details.map((each) => `    ${each}`), '1 shown (--limit 5).', ''])
  expect(await piped.run('dlq', 'retry', '--all')).toBe(0)
  expect(await piped.run('dlq', 'retry', 'd1')).toBe(0)
  expect(await piped.run('dlq', 'retry', 'd1', 'd2')).toBe(1)
  expect(asked).toEqual([{ limit: 100 }, { limit: 5 }, { limit: 5 }, {}, { ids: ['d1'] }, { ids: ['d1', 'd2'] }])
  // When the list is full, the next queue is not read.
  expect(await piped.run('dlq', 'list', '--limit', '1', '--queue', 'a,b')).toBe(0)
  expect(asked.slice(6)).toEqual([{ limit: 1 }])
})

test.each([
  [['d1'], 0, "prefork: There is no id 'd1' among the dead letters of q: prefork dlq list shows them.\n"],
  [['d1', 'd2'], 0, 'prefork: None of these ids is among the dead letters of q: prefork dlq list shows them.\n'],
  [['d1', 'd2'], 1, 'prefork: Not all of these ids are among the dead letters of q: prefork dlq list shows them.\n'],
])('dlq retry %j, of which %i exist', async (ids, there, line) => {
  const { run, stdout, stderr } = commandLine({ farm: { retryDeadLetters: async () => there } })
  expect(await run('dlq', 'retry', ...ids, '--queue', 'q')).toBe(1)
  expect([stdout.text, stderr.text]).toEqual([there === 0 ? '' : '1 went back to their queues.\n', line])
})

test('purge --yes empties each queue', async () => {
  const { run, stdout } = commandLine({ farm: { purge: async (_, queue) => queue.length } })
  expect(await run('purge', '--yes', '--queue', 'a,bcd')).toBe(0)
  expect(stdout.text).toBe('a: 1 removed\nbcd: 3 removed\n')
})

test('a misspelt variable is told, with the one that is meant; the command runs on', async () => {
  const env = { ASYNC_FARM_JOB_QUEUE: 'q', ASYNC_FARM_LOGLEVEL: 'warn', ASYNC_FARM_OF_SOMEBODY_ELSE: '1', ASYNC_FARM_SECRET: 'long enough' }
  const node = new ScriptedNode()
  const line = commandLine({ env, farm: { createControlClient: async () => controlClientOf(node) } })
  expect(await line.run('control', 'ping')).toBe(0)
  expect(line.stderr.text).toBe(
    'prefork: the variable ASYNC_FARM_JOB_QUEUE has no effect; did you mean ASYNC_FARM_JOBS_QUEUE?\n' +
      'prefork: the variable ASYNC_FARM_LOGLEVEL has no effect; did you mean ASYNC_FARM_LOG_LEVEL?\n',
  )
})
