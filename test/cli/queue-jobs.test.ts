/** `prefork queue`, over a queue in memory: its own processes and a file are in queue-file.long.test.ts. */
import { expect, onTestFinished, test } from 'vitest'
import type { BrokerSettings } from '../../src/cli/settings/broker.js'
import { createQueue, type Queue } from '../../src/queue/index.js'
import { commandLine } from './command-line.js'
import { jsonLines } from './processes.js'

let stores = 0

/** A command line whose queues are in memory, and the queue that it uses where none is named. */
const start = async () => {
  const store = `memory:cli-${++stores}`
  const queue = await createQueue({ store, queue: 'default' })
  onTestFinished(() => queue.close())
  const brokers: BrokerSettings[] = []
  const withQueue = async <T>(broker: BrokerSettings, name: string, use: (queue: Queue) => Promise<T>): Promise<T> => {
    brokers.push(broker)
    const other = await createQueue({ store, queue: name })
    try {
      return await use(other)
    } finally {
      await other.close()
    }
  }
  const line = commandLine({ env: { RABBITMQ_URL: 'sqlite:./jobs.db' }, farm: { withQueue } })
  const run = async (...typed: string[]) => {
    line.stdout.text = line.stderr.text = ''
    return { code: await line.run('queue', ...typed), stdout: line.stdout.text, stderr: line.stderr.text }
  }
  return { queue, run, brokers }
}

test('counts, with the settings, of each queue that is named', async () => {
  const { queue, run, brokers } = await start()
  await queue.add('a', [])
  await queue.limit('10/s')
  const { code, stdout } = await run('counts', '--queue', 'default,mail')
  expect(code).toBe(0)
  expect(jsonLines(stdout)).toMatchObject([
    { queue: 'default', waiting: 1, failed: 0, paused: false, rate: '10/s' },
    { queue: 'mail', waiting: 0, paused: false, rate: null },
  ])
  expect(brokers[0]).toMatchObject({ url: 'sqlite:./jobs.db', queues: ['default', 'mail'] })
})

test('lists jobs by state, task, and page, and shows one', async () => {
  const { queue, run } = await start()
  await queue.add('a', [1], { id: 'one' })
  await queue.add('b', [2], { id: 'two', delay: 60_000 })
  await queue.add('a', [3], { id: 'three' })
  const ids = async (...typed: string[]) => jsonLines((await run('list', ...typed)).stdout).map(({ id }) => id)
  expect(await ids()).toEqual(['one', 'two', 'three'])
  expect(await ids('--state', 'delayed,failed')).toEqual(['two'])
  expect(await ids('--task', 'a', '--limit', '1')).toEqual(['one'])
  expect(await ids('--task', 'a', '--after', '1')).toEqual(['three'])
  expect(jsonLines((await run('show', 'two')).stdout)).toMatchObject([{ id: 'two', task: 'b', args: [2], state: 'delayed' }])
  expect(await run('show', 'four')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining("There is no job 'four' in default: prefork queue list"),
  })
  expect(await run('list', '--state', 'faild')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--state must be one or several of waiting, delayed'),
  })
})

test('pauses and resumes', async () => {
  const { queue, run } = await start()
  expect(await run('pause', '--queue', 'defualt')).toMatchObject({ code: 0, stdout: 'defualt: paused; it has no job, ended or not\n' })
  await queue.add('a', [])
  expect(await run('pause')).toMatchObject({ code: 0, stdout: 'default: paused\n' })
  expect(await queue.settings()).toMatchObject({ paused: true })
  expect(await run('resume')).toMatchObject({ code: 0, stdout: 'default: resumed\n' })
  expect(await queue.settings()).toMatchObject({ paused: false })
})

test('cancels, retries and removes jobs by id, state or task', async () => {
  const { queue, run } = await start()
  for (const id of ['one', 'two', 'three']) await queue.add(id === 'two' ? 'b' : 'a', [], { id })
  expect(await run('cancel', 'one', 'gone')).toMatchObject({ code: 1, stdout: '1 cancelled.\n', stderr: expect.stringContaining('Not cancelled: gone.') })
  expect(await run('cancel', '--task', 'b')).toMatchObject({ code: 0, stdout: '1 cancelled.\n' })
  expect(await queue.counts()).toMatchObject({ waiting: 1, cancelled: 2 })
  expect(await run('retry', '--state', 'cancelled')).toMatchObject({ code: 0, stdout: '2 retried.\n' })
  expect(await queue.counts()).toMatchObject({ waiting: 3, cancelled: 0 })
  expect(await run('remove', 'two')).toMatchObject({ code: 0, stdout: '1 removed.\n' })
  expect(await run('remove', '--all')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('This removes every job of default that does not run, for good: say --yes.'),
  })
  expect(await queue.counts()).toMatchObject({ waiting: 2 })
  expect(await run('remove', '--all', '--yes')).toMatchObject({ code: 0, stdout: '2 removed.\n' })
  for (const typed of [['remove'], ['remove', 'x', '--all'], ['retry', '--all', '--task', 'a'], ['cancel', 'x', '--state', 'waiting']])
    expect(await run(...typed)).toMatchObject({ code: 2, stderr: expect.stringContaining('Name their ids, or say --state or --task, or --all.') })
})

test('stores, shows and removes schedules', async () => {
  const { queue, run } = await start()
  const stored = await run('schedule', 'nightly', 'a', '[1]', '--cron', '0 3 * * *', '--time-zone', 'Europe/Berlin', '--catch-up', 'none')
  expect(stored).toMatchObject({ code: 0, stdout: expect.stringMatching(/^nightly: \d{4}-\d\d-\d\dT0[12]:00:00\.000Z\n$/) })
  expect(await run('schedule', 'often', 'a', '--every', '5m')).toMatchObject({ code: 0 })
  expect(await queue.schedules()).toMatchObject([
    { key: 'nightly', cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'none', args: [1] },
    { key: 'often', every: 300_000, args: [] },
  ])
  expect(jsonLines((await run('schedule')).stdout)).toMatchObject([{ key: 'nightly' }, { key: 'often' }])
  expect(await run('schedule', 'often', '--remove')).toMatchObject({ code: 0, stdout: 'often: removed\n' })
  expect(await run('schedule', 'often', '--remove')).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no schedule 'often' in default.") })
  expect(await run('schedule', 'x', '--every', '5m')).toMatchObject({ code: 2, stderr: expect.stringContaining('Which task?') })
  expect(await run('schedule', '--queue', 'a,b')).toMatchObject({ code: 2, stderr: expect.stringContaining('One queue') })
  for (const [typed, text] of [
    [
      ['--cron', 'nonsense'],
      "--cron must be five fields (minute, hour, day of the month, month, day of the week), or six with the second first; it was given 'nonsense'.",
    ],
    [['--cron', '0 9 * * *', '--time-zone', 'Mars/Base'], "--time-zone must be a time zone, such as 'Europe/Berlin'; there is none named 'Mars/Base'."],
    [[], "When? Say --cron, such as '0 9 * * 1-5', or --every, such as 5m."],
    [['--cron', '0 9 * * *', '--every', '5m'], '--cron and --every exclude each other.'],
    [['--every', '5m', '--time-zone', 'UTC'], '--time-zone is for --cron'],
  ] as const)
    expect(await run('schedule', 'x', 'a', ...typed)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(text) })
})

test('is refused for RabbitMQ, and flags of RabbitMQ for a file', async () => {
  const rabbit = commandLine({ farm: {} })
  expect(await rabbit.run('queue', 'counts')).toBe(2)
  expect(rabbit.stderr.text).toContain('prefork queue is for a queue in a file: --broker sqlite:./jobs.db.')
  for (const flag of ['--queue-type', '--priority-levels', '--control-exchange', '--worker-exchange']) {
    const file = commandLine()
    expect(await file.run('work', '--tasks', './farm-tasks.js', '--broker', 'sqlite:./jobs.db', flag, '1')).toBe(2)
    expect(file.stderr.text).toContain(`${flag} is for RabbitMQ: leave it out for a queue in a file.`)
  }
  const wrong = commandLine()
  expect(await wrong.run('queue', 'counts', '--broker', 'memory:')).toBe(2)
  expect(wrong.stderr.text).toContain('or a queue in a file, such as sqlite:./jobs.db')
})
