/** The examples of the page for BullMQ, run by BullMQ on a Redis and by a queue in a file: the same attempts, the same ends. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandsOf } from '../../docs/document.js'
import { until } from '../../fixtures/until.js'
import { hasSqlite } from '../../queue/store/sqlite/files.js'
import { INSTALL_TIMEOUT, installPackages } from '../packages.js'
import { withRedis } from '../redis.js'
import { bullmqSide } from './bullmq-side.js'
import type { JobRequest } from './ended.js'
import { MEETING, meeting } from './meeting.js'
import { codeOf, literal, rowsOf, sectionOf } from './page.js'
import { preforkSide } from './prefork-side.js'

const PAGE = 'docs/migrating-from-bullmq.md'
const TIMEOUT = 120_000
const PROCESSOR = codeOf(PAGE, 'Attempts and outcomes', 'processor.js')
const TASKS = codeOf(PAGE, 'Attempts and outcomes', 'tasks.js')

const CODE = /`([^`]*)`/.source
const JOB = new RegExp(`^\\| \`(\\w+)\`, ${CODE}, \`attempts: (\\d+)\` +\\| (\\d+) +\\| (completed|failed): ${CODE}`)
const JOBS = rowsOf(PAGE, 'Attempts and outcomes', JOB).map(([name, data, attempts, made, state, end]) => ({
  request: { name: name!, data: literal(data!), attempts: Number(attempts) },
  ended: { state: state!, attempts: Number(made), losses: 0, ...(state === 'completed' ? { value: end } : { reason: end }) },
}))
const [FLOW] = rowsOf(PAGE, 'Attempts and outcomes', /^\| `total` with the children `price` of (.*?) +\| 1 +\| completed: `(\d+)`/)
const FORMS = rowsOf(PAGE, 'Concurrency', new RegExp(`^\\| \`new Worker\\(name, (.*?), ({.*?})\\)\` +\\| ${CODE} +\\| in (\\d+) process`))

const EIGHT = Array.from({ length: 8 }, (_, id) => id)

it('the page has what is read here', () => {
  expect(JOBS).toHaveLength(3)
  expect(FLOW).toBeDefined()
  expect(FORMS).toHaveLength(2)
})

withRedis('BullMQ', () => {
  beforeAll(installPackages, INSTALL_TIMEOUT)

  it('prints what the page shows of the example after', { timeout: TIMEOUT }, async () => {
    const { folder, prefix } = await bullmqSide({ 'before.js': codeOf(PAGE, 'Before and after', 'before.js') })
    const file = join(folder, 'before.js')
    writeFileSync(file, readFileSync(file, 'utf8').replace("prefix: 'tour'", `prefix: '${prefix}'`))
    const { all } = await execa(process.execPath, ['before.js'], { cwd: folder, all: true, stdin: 'ignore', timeout: 30_000 })
    const shown = sectionOf(PAGE, 'Before and after').find(({ lang }) => lang === 'console')!
    expect([all]).toEqual(commandsOf(shown)[0]!.output)
  })

  it.each([false, true])('ends the jobs of the page so; the processor is a file: %s', { timeout: TIMEOUT }, async (isFile) => {
    const { work, run, runFlow } = await bullmqSide({ 'processor.js': PROCESSOR })
    await work('processor.js', { isFile, concurrency: 2 })
    expect(await run(JOBS.map(({ request }) => request))).toEqual(JOBS.map(({ ended }) => ended))
    expect(await runFlow('total', prices())).toEqual({ state: 'completed', attempts: 1, losses: 0, value: Number(FLOW![1]) })
    expect(await runFlow('total', [...prices(), { name: 'charge', data: { customer: 7 } }])).toMatchObject({ state: 'failed' })
  })

  it('tries a job once by default', { timeout: TIMEOUT }, async () => {
    const { work, run } = await bullmqSide({ 'processor.js': PROCESSOR })
    await work('processor.js')
    expect(await run([{ name: 'connect', data: { failures: 9 } }])).toMatchObject([{ state: 'failed', attempts: 1 }])
  })

  it.each([
    [false, 1],
    [true, 2],
  ])('knows a class that extends UnrecoverableError; the processor is a file: %s', { timeout: TIMEOUT }, async (isFile, attempts) => {
    const { work, run } = await bullmqSide({ 'extends.js': EXTENDS })
    await work('extends.js', { isFile })
    expect(await run([{ name: 'charge', data: {}, attempts: 2 }])).toMatchObject([{ state: 'failed', attempts }])
  })

  it.each(FORMS)('runs eight jobs at once: %s, %s', { timeout: TIMEOUT }, async (processor, options, _own, processes) => {
    const { folder, work, run } = await bullmqSide({ 'meeting.js': MEETING })
    await work('meeting.js', { isFile: processor === "'./processor.js'", ...literal(options!) })
    const ended = await run(meeting(folder, 8).jobs)
    expect(ended.map(({ state }) => state)).toEqual(EIGHT.map(() => 'completed'))
    expect(new Set(ended.map(({ value }) => value)).size).toBe(Number(processes))
  })

  it('a crash in a function ends all eight jobs: they stall, and run again elsewhere', { timeout: TIMEOUT }, async () => {
    const { folder, work, run } = await bullmqSide({ 'meeting.js': MEETING })
    const options = { concurrency: 8, lockDuration: 1_000, stalledInterval: 500 }
    const [go, crash] = ['go', 'crash'].map((name) => join(folder, name)) as [string, string]
    const { ended: killed } = await work('meeting.js', options)
    const { jobs, begun } = meeting(folder, 8, { go, crash })
    const ended = run(jobs)
    await killed
    writeFileSync(go, '')
    await work('meeting.js', options)
    expect(await ended).toEqual(EIGHT.map(() => expect.objectContaining({ state: 'completed', attempts: 1, losses: 1 })))
    expect(begun()).toEqual(EIGHT.map(() => 2))
  })

  it('a crash in a file costs the job an attempt, and its neighbours nothing', { timeout: TIMEOUT }, async () => {
    const { folder, work, run } = await bullmqSide({ 'meeting.js': MEETING })
    const [go, crash] = ['go', 'crash'].map((name) => join(folder, name)) as [string, string]
    await work('meeting.js', { isFile: true, concurrency: 8 })
    const { jobs, begun } = meeting(folder, 8, { go, crash })
    const ended = run(jobs)
    await until('the job has begun again', () => begun()[0] === 2)
    writeFileSync(go, '')
    const [crashed, ...others] = await ended
    expect(crashed).toMatchObject({ state: 'completed', attempts: 2, losses: 0 })
    expect(others).toEqual(others.map(() => expect.objectContaining({ state: 'completed', attempts: 1, losses: 0 })))
    expect(begun()).toEqual([2, ...others.map(() => 1)])
  })
})

const prices = (): JobRequest[] => FLOW![0]!.match(/\d+/g)!.map((amount) => ({ name: 'price', data: { amount: Number(amount) } }))

const EXTENDS = `import { UnrecoverableError } from 'bullmq'
class NoCustomer extends UnrecoverableError {}
export const charge = () => {
  throw new NoCustomer('no customer')
}
export default charge
`

/** The tasks of the page as they are while they still import from BullMQ. */
const KEPT = TASKS.replace('currentJob, NonRetryableError', 'currentJob').replace(
  /^import/m,
  "import { UnrecoverableError as NonRetryableError } from 'bullmq'\nimport",
)

describe.skipIf(!hasSqlite)('prefork/queue', () => {
  beforeAll(installPackages, INSTALL_TIMEOUT)

  it.each([
    ['NonRetryableError', TASKS],
    ['UnrecoverableError of BullMQ', KEPT],
  ])('ends the jobs of the page so, with %s', { timeout: TIMEOUT }, async (_error, tasks) => {
    const { work, run, runFlow } = await preforkSide({ 'tasks.js': tasks }, ['bullmq', 'ioredis'])
    await work('tasks.js', { maxWorkers: 2 })
    expect(await run(JOBS.map(({ request }) => request))).toEqual(JOBS.map(({ ended }) => ended))
    expect(await runFlow('total', prices())).toEqual({ state: 'completed', attempts: 1, losses: 0, value: Number(FLOW![1]) })
    expect(await runFlow('total', [...prices(), { name: 'charge', data: { customer: 7 } }])).toMatchObject({ state: 'failed' })
  })

  it('tries a job three times by default', { timeout: TIMEOUT }, async () => {
    const { work, run } = await preforkSide({ 'tasks.js': TASKS })
    await work('tasks.js', { maxWorkers: 1 })
    expect(await run([{ name: 'connect', data: { failures: 9 } }])).toMatchObject([{ state: 'failed', attempts: 3 }])
  })

  it('does not know a class that extends UnrecoverableError', { timeout: TIMEOUT }, async () => {
    const { work, run } = await preforkSide({ 'extends.js': EXTENDS }, ['bullmq', 'ioredis'])
    await work('extends.js', { maxWorkers: 1 })
    expect(await run([{ name: 'charge', data: {}, attempts: 2 }])).toMatchObject([{ state: 'failed', attempts: 2 }])
  })

  it.each(FORMS)('runs eight jobs at once as BullMQ does: %s, %s', { timeout: TIMEOUT }, async (_processor, _options, own, processes) => {
    const { folder, work, run } = await preforkSide({ 'meeting.js': MEETING })
    await work('meeting.js', literal(`{ ${own} }`))
    const ended = await run(meeting(folder, 8).jobs)
    expect(ended.map(({ state }) => state)).toEqual(EIGHT.map(() => 'completed'))
    expect(new Set(ended.map(({ value }) => value)).size).toBe(Number(processes))
  })

  it.each([
    ['costs its job a loss, and its neighbours nothing', { maxWorkers: 8 }, [1, 0, 0, 0, 0, 0, 0, 0]],
    ['in a worker of eight jobs costs each a loss', { maxWorkers: 1, concurrency: 8 }, EIGHT.map(() => 1)],
  ])('a crash %s', { timeout: TIMEOUT }, async (_what, options, losses) => {
    const { folder, work, run } = await preforkSide({ 'meeting.js': MEETING })
    const [go, crash] = ['go', 'crash'].map((name) => join(folder, name)) as [string, string]
    await work('meeting.js', options)
    const { jobs, begun } = meeting(folder, 8, { go, crash })
    const ended = run(jobs)
    await until('a job has begun again', () => begun().some((count) => count === 2))
    writeFileSync(go, '')
    expect(await ended).toEqual(losses.map((count) => expect.objectContaining({ state: 'completed', attempts: 1, losses: count })))
    expect(begun()).toEqual(losses.map((count) => 1 + count))
  })
})
