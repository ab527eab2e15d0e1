import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeReply } from 'prefork/runtime'
import { describe, expect, it } from 'vitest'
import { eventsOf, runsOf, settled, sharedNode, startNode } from '../fixtures/nodes.js'
import { isAlive, Journal, Latch, scratch, until } from '../fixtures/support.js'

const shared = sharedNode()
const oneByOne = sharedNode({ prefetchPerWorker: 3, concurrency: 1 })

describe('a revoked job', () => {
  it('never runs when it arrives later: it is settled as revoked, and its caller gets an error', async () => {
    const farm = await shared()
    expect(await farm.node.command({ command: 'revoke', id: 'x' })).toEqual({ id: 'x', outcome: 'remembered' })
    farm.server.add('echo', [1], { id: 'x', replyTo: 'me' })
    await settled(farm)
    expect([farm.server.revoked, farm.server.acknowledged]).toEqual([['x'], []])
    expect(decodeReply(farm.server.replies[0]!.body)).toMatchObject({ ok: false, error: { name: 'RevokedError', code: 'ERR_PREFORK_REVOKED' } })
    expect(eventsOf(farm, 'x')).toEqual(['task.received', 'task.revoked'])
    expect(runsOf(farm, 'x', 'task.revoked')).toEqual([[undefined, 0]])
    expect(farm.node.snapshot().tasks).toMatchObject([{ id: 'x', status: 'revoked' }])
  })

  it('never runs when it is waiting', async () => {
    const farm = await oneByOne()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'first'])
    await journal.seen('+first')
    farm.server.add('mark', [journal.path, 'second'], { id: 'second' })
    await until('both are held', () => farm.node.stats().held === 2)
    expect(await farm.node.command({ command: 'revoke', id: 'second' })).toMatchObject({ outcome: 'revoked' })
    await until('it is settled', () => farm.server.revoked.includes('second'))
    latch.open()
    await settled(farm)
    expect(journal.lines).toEqual(['+first', '-first'])
  })

  it('goes on while it runs, unless it is to be terminated', async () => {
    const farm = await shared()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'on'], { id: 'on' })
    farm.server.add('spinFor', [600_000], { id: 'off', replyTo: 'me' })
    await until('both run', () => farm.node.stats().running === 2)
    expect(await farm.node.command({ command: 'revoke', id: 'on' })).toMatchObject({ outcome: 'running' })
    expect(await farm.node.command({ command: 'revoke', id: 'off', terminate: true })).toMatchObject({ outcome: 'terminated' })
    await until('it is settled', () => farm.server.revoked.includes('off'))
    latch.open()
    await settled(farm)
    expect(journal.lines.at(-1)).toBe('-on')
    expect(farm.server.replies).toMatchObject([{ id: 'off', ok: false }])
    expect(decodeReply(farm.server.replies[0]!.body)).toMatchObject({ error: { name: 'RevokedError', code: 'ERR_PREFORK_REVOKED' } })
    expect(eventsOf(farm, 'off').at(-1)).toBe('task.revoked')
    expect(runsOf(farm, 'off', 'task.revoked')).toEqual([[1, expect.any(Number)]])
    expect(farm.node.stats().totals).toMatchObject({ revoked: 1, succeeded: 1 })
  })
})

describe('a rate limit', () => {
  const starts = (farm: Awaited<ReturnType<typeof startNode>>): number => farm.broker.events.filter(({ type }) => type === 'task.started').length

  it('delays the jobs of its task alone, and releases them when it is removed', async () => {
    const farm = await shared()
    expect(await farm.node.command({ command: 'rate_limit', task: 'echo', limit: '1/h' })).toEqual({ 'task echo': '1/h' })
    for (let index = 0; index < 3; index++) farm.server.add('echo', [index])
    farm.server.add('pid')
    await until('one of each has run', () => farm.server.acknowledged.length === 2)
    expect(starts(farm)).toBe(2)
    expect(farm.node.stats()).toMatchObject({ held: 2, running: 0, rateLimits: { 'task echo': '1/h' } })
    await farm.node.command({ command: 'rate_limit', task: 'echo', limit: null })
    await settled(farm)
    expect(starts(farm)).toBe(4)
  })

  it('of a queue delays all of its jobs, and releases them over time', async () => {
    const farm = await shared()
    await farm.node.command({ command: 'rate_limit', queue: 'jobs', limit: '600/m' })
    const before = performance.now()
    for (let index = 0; index < 5; index++) farm.server.add('echo', [index])
    await settled(farm)
    // One at once, then one every 100 ms.
    expect(performance.now() - before).toBeGreaterThan(390)
    expect(starts(farm)).toBe(5)
  })

  it('is not consumed by jobs that are given back and delivered again', async () => {
    const farm = await startNode({ taskDefaults: { echo: { rateLimit: '60/m' } } })
    for (let index = 0; index < 4; index++) farm.server.add('echo', [index])
    await until('three wait', () => farm.server.acknowledged.length === 1 && farm.node.stats().held === 3)
    // If each redelivery took a token, the next job would begin a minute later.
    for (let time = 0; time < 20; time++) {
      await farm.node.command({ command: 'pause' })
      await farm.node.command({ command: 'resume' })
      await until('what was given back is here again', () => farm.node.stats().held + farm.server.acknowledged.length === 4)
      await farm.node.command({ command: 'rate_limit', task: 'pid', limit: '5/s' })
    }
    await until('the next has run', () => farm.server.acknowledged.length >= 2)
  })

  it('can be a default of the task; a job that waits for it is forgotten when its delivery is gone', async () => {
    const farm = await startNode({ taskDefaults: { echo: { rateLimit: '1/h' } } })
    farm.server.add('echo', [1])
    await settled(farm)
    farm.server.add('echo', [2], { id: 'waits' })
    await until('it waits', () => farm.node.stats().held === 1)
    farm.broker.cut()
    expect(farm.node.stats().held).toBe(0)
    expect(farm.node.snapshot().tasks.map(({ id }) => id)).not.toContain('waits')
  })
})

describe('a node command', () => {
  it('pause gives waiting jobs back and keeps running ones; resume takes jobs again', async () => {
    const farm = await oneByOne()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    farm.server.add('mark', [journal.path, 'a'])
    farm.server.add('mark', [journal.path, 'b'])
    await until('all are held', () => farm.node.stats().held === 3)
    expect(await farm.node.command({ command: 'pause' })).toEqual({ state: 'paused' })
    await until('two are back', () => farm.server.ready.length === 2)
    latch.open()
    await until('the first is done', () => farm.server.acknowledged.length === 1)
    expect(journal.lines).toEqual(['+x', '-x'])
    expect(await farm.node.command({ command: 'resume' })).toEqual({ state: 'running' })
    await settled(farm)
    expect(journal.lines.slice(2).sort()).toEqual(['a', 'b'])
  })

  it('quiet takes no more jobs and runs those it holds', async () => {
    const farm = await oneByOne()
    const journal = new Journal()
    const latch = new Latch()
    farm.server.add('hold', [latch.path, journal.path, 'x'])
    await journal.seen('+x')
    farm.server.add('mark', [journal.path, 'held'])
    await until('both are held', () => farm.node.stats().held === 2)
    expect(await farm.node.command({ command: 'quiet' })).toEqual({ state: 'quiet' })
    farm.server.add('mark', [journal.path, 'late'])
    latch.open()
    await until('what it held is done', () => farm.server.acknowledged.length === 2)
    expect(journal.lines).toEqual(['+x', '-x', 'held'])
    expect(farm.server.ready).toHaveLength(1)
  })
})

describe('a task named by its path', () => {
  const tree = (): { root: string; outside: string } => {
    const directory = realpathSync(scratch())
    const root = join(directory, 'root')
    mkdirSync(join(root, 'mail'), { recursive: true })
    writeFileSync(join(root, 'mail/send.mjs'), 'export const welcome = (name) => "Welcome, " + name\nexport const text = 1\n')
    writeFileSync(join(root, 'old.cjs'), 'exports.add = (a, b) => a + b\n')
    const outside = join(directory, 'outside.mjs')
    writeFileSync(outside, 'export const stolen = () => 1\n')
    symlinkSync(outside, join(root, 'link.mjs'))
    return { root, outside }
  }

  it('runs below the roots, with and without its extension', async () => {
    const farm = await startNode({ roots: [tree().root] })
    farm.server.add('mail/send#welcome', ['Ada'], { id: 'a', replyTo: 'me' })
    farm.server.add('./old.cjs#add', [1, 2], { id: 'b', replyTo: 'me' })
    await settled(farm)
    expect(Object.fromEntries(farm.server.replies.map(({ id, body }) => [id, decodeReply(body)]))).toEqual({
      a: { ok: true, value: 'Welcome, Ada' },
      b: { ok: true, value: 3 },
    })
    expect(
      farm.node
        .snapshot()
        .tasks.map(({ name }) => name)
        .sort(),
    ).toEqual(['./old.cjs#add', 'mail/send#welcome'])
  })

  it('has the options of defineTask; those of its message override them', async () => {
    const { root } = tree()
    const journal = new Journal()
    const prefork = new URL('../../dist/worker/index.js', import.meta.url).href
    const write = (limits: string): void =>
      writeFileSync(
        join(root, 'own.mjs'),
        `import { appendFileSync } from 'node:fs'
import { currentJob, defineTask } from '${prefork}'
const wait = () =>
  new Promise((_resolve, reject) => {
    const { signal } = currentJob()
    signal.addEventListener('abort', () => reject(signal.reason))
    setTimeout(() => {}, 60_000)
  })
export const limited = defineTask(${limits}, wait)
export const once = defineTask({ retryLost: 0 }, (file) => { appendFileSync(file, 'x\\n'); process.kill(process.pid, 'SIGKILL') })
`,
      )
    write('{ softTimeLimit: 150, timeLimit: 4_000 }')
    const farm = await startNode({ roots: [root], maxAttempts: 1, minWorkers: 1, maxWorkers: 1, concurrency: 1 })
    const errorOf = async (name: string, args: unknown[], headers: object = {}): Promise<string> => {
      const id = farm.server.add(name, args, headers)
      await settled(farm)
      const { settlement } = farm.server.dead.find(({ message }) => message.id === id)!
      return `${settlement.reason} ${settlement.error.name} ${settlement.error.message}`
    }
    expect(await errorOf('own#limited', [])).toContain('soft time limit of 150 ms')
    expect(await errorOf('own#limited', [], { softTimeLimit: 90 })).toContain('soft time limit of 90 ms')
    // The hard limit of the message is below the soft limit of the task, which is dropped.
    expect(await errorOf('own#limited', [], { timeLimit: 120 })).toContain('failed TimeLimitError')
    expect(await errorOf('own#once', [journal.path])).toMatch(/^lost WorkerLostError/)
    expect(journal.lines).toEqual(['x'])
    // A worker that starts later loads the module as it is then, with its limits.
    write('{ softTimeLimit: 60 }')
    const { workers } = farm.node.stats()
    await farm.node.command({ command: 'restart' })
    await until('it is another one', () => farm.node.stats().workers.every(({ id, state }) => id !== workers[0]!.id && state === 'up'))
    expect(await errorOf('own#limited', [])).toContain('soft time limit of 60 ms')
    expect(farm.node.stats().totals.received).toBe(5)
  })

  it('keeps the name that its message gave it, in the task and in its errors', async () => {
    const { root } = tree()
    const prefork = new URL('../../dist/worker/index.js', import.meta.url).href
    mkdirSync(join(root, 'sub'))
    writeFileSync(
      join(root, 'sub/n.mjs'),
      `import { currentJob, onJobStart } from '${prefork}'
let hooked
onJobStart(({ name }) => { hooked = name })
export const who = () => { const { id, name, context } = currentJob(); return { id, name, context, hooked } }
export const spin = () => { for (;;); }
export const odd = () => () => {}
`,
    )
    const farm = await startNode({ roots: [root], maxAttempts: 1, maxLosses: 1 })
    const message = { context: { user: 5 }, replyTo: 'me' }
    const answer = async (name: string, args: unknown[] = [], headers: object = {}): Promise<unknown> => {
      const id = farm.server.add(name, args, { ...message, ...headers })
      await settled(farm)
      return decodeReply(farm.server.replies.find((each) => each.id === id)!.body)
    }
    await answer('sub/n#who')
    expect(await answer('sub/n#who', [], { id: 'w' })).toEqual({
      ok: true,
      value: { id: 'w', name: 'sub/n#who', context: { user: 5 }, hooked: 'sub/n#who' },
    })
    expect(await answer('sub/n#who', [], { context: undefined })).toMatchObject({ ok: true, value: { name: 'sub/n#who' } })
    expect(await answer('echo', [1])).toEqual({ ok: true, value: 1 })
    const timeUp = "The job 'sub/n#spin' ran longer than its time limit of 300 ms."
    expect(await answer('sub/n#spin', [], { timeLimit: 300 })).toMatchObject({ ok: false, error: { message: timeUp } })
    expect(farm.server.dead).toMatchObject([{ settlement: { error: { name: 'TimeLimitError', message: timeUp } } }])
    expect(JSON.stringify(farm.node.snapshot())).not.toContain('prefork:path')
  })

  it('is refused outside of the roots', async () => {
    const { root, outside } = tree()
    const farm = await startNode({ roots: [root] })
    const names = ['../outside#stolen', 'mail/../../outside#stolen', `${outside}#stolen`, 'link#stolen', '#x', 'mail/send#']
    for (const name of names) farm.server.add(name, [], { id: name })
    await settled(farm)
    expect(farm.server.dead.map(({ message, settlement }) => [message.id, settlement.reason]).sort()).toEqual(names.map((name) => [name, 'refused']).sort())
    for (const { settlement } of farm.server.dead) expect(settlement.error).toMatchObject({ name: 'PathRefusedError', code: 'ERR_PREFORK_PATH_REFUSED' })
  })

  it('is an unknown task without such a module or export, and without roots', async () => {
    const farm = await startNode({ roots: [tree().root], unknownTask: 'dead-letter' })
    const names = ['mail/none#welcome', 'mail/send#none', 'mail/send#text', 'mail/send#constructor', 'prefork:path', 'prefork:path-options']
    for (const name of names) farm.server.add(name, ['/etc/hosts', 'x', []], { id: name })
    await settled(farm)
    expect(farm.server.dead.map(({ message, settlement }) => [message.id, settlement.reason]).sort()).toEqual(
      names.map((name) => [name, 'unknown_task']).sort(),
    )
    const plain = await startNode({ unknownTask: 'dead-letter' })
    plain.server.add('mail/send#welcome')
    await settled(plain)
    expect(plain.server.dead).toMatchObject([{ settlement: { reason: 'unknown_task' } }])
  })

  it('lists the searched paths when it is unknown', async () => {
    const { root } = tree()
    const messageOf = async (name: string, tasks: object): Promise<string> => {
      const farm = await startNode({ roots: [root], unknownTask: 'dead-letter', ...tasks })
      farm.server.add(name)
      await settled(farm)
      return farm.server.dead[0]!.settlement.error.message
    }
    const none = { tasks: [] }
    expect(await messageOf('mail/none#welcome', none)).toBe(
      `There is no task 'mail/none#welcome': there is no file 'mail/none' (also with .js, .mjs, .cjs) below ${root}.`,
    )
    expect(await messageOf('welcome', none)).toBe(`There is no task 'welcome'. Tasks are named module/path#export, as they are found below ${root}.`)
    expect(await messageOf('welcome', {})).toMatch(/^There is no task 'welcome'\. The tasks are: .+ echo, /)
  })
})

it('the output of a job is in its record and in the log, with job, task and worker', async () => {
  const lines: [object, string][] = []
  const log = (details: object, message: string): void => {
    lines.push([details, message])
  }
  const farm = await startNode({ logger: { trace: log, debug: log, info: log, warn: log, error: log } })
  const id = farm.server.add('print', ['one', 'two'])
  const many = farm.server.add(
    'print',
    Array.from({ length: 600 }, (_, index) => `line ${index}`),
  )
  await settled(farm)
  const [first, second] = [id, many].map((each) => farm.node.snapshot().tasks.find((task) => task.id === each)!)
  expect(first).toMatchObject({
    name: 'print',
    status: 'success',
    worker: 1,
    duration: expect.any(Number),
    logs: [{ stream: 'stdout', text: 'one' }, { text: 'two' }],
  })
  expect(second!.logs).toHaveLength(500)
  expect(second!.logs.at(-1)!.text).toBe('line 599')
  expect(lines.filter(([, text]) => text === 'two').map(([details]) => details)).toMatchObject([{ job: id, task: 'print', worker: 1, stream: 'stdout' }])
  const { workers } = farm.node.stats()
  expect(isAlive(workers[0]!.pid!)).toBe(true)
})
