/** A queue without a node. */
import { createQueue, type Queue, runWorker } from 'prefork/queue'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createQueue as createFromSource, QUEUE_OPTIONS } from '../../../src/queue/face/create-queue.js'
import { ADD_OPTIONS } from '../../../src/queue/jobs/add-options.js'
import { makeStore } from '../../../src/queue/store/make-store.js'
import { until } from '../../fixtures/support.js'

let stores = 0
const open = async (options: object = {}): Promise<Queue> => {
  const queue = await createQueue({ store: `memory:queue-test-${++stores}`, queue: 'q', ...options })
  onTestFinished(() => queue.close())
  return queue
}

const message = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: Error) => `${error.name}: ${error.message}`,
  )

describe('createQueue', () => {
  it('names a misspelt option, and lists those there are', async () => {
    const text = await message(createQueue({ store: 'memory:', qeue: 'q' } as never))
    expect(text).toMatch(/^TypeError: Unknown option 'qeue' of createQueue; did you mean 'queue'\?/)
    for (const name of Object.keys(QUEUE_OPTIONS)) expect(text).toContain(name)
  })

  it.each([
    [{}, "'store'"],
    [{ store: 'redis://here' }, "'sqlite:./jobs.db' or 'memory:'"],
    [{ store: 'memory:', queue: '' }, "'queue'"],
    [{ store: 'memory:', queue: 'a\0b' }, "'queue'"],
    [{ store: 'memory:', defaults: { maxAttempt: 3 } }, "did you mean 'maxAttempts'"],
    [{ store: 'memory:', maxBodySize: 0 }, "'maxBodySize'"],
  ])('refuses %j', async (options, text) => {
    expect(await message(createQueue(options as never))).toContain(text)
  })

  it('says what it wants where it is given nothing', async () => {
    expect(await message(createQueue(undefined as never))).toBe(
      "TypeError: Option 'options' must be an object: createQueue({ store: 'sqlite:./jobs.db' }); it was given undefined.",
    )
  })

  it('shares a memory store by name, until the last is closed', async () => {
    const [first, second] = [await createQueue({ store: 'memory:shared' }), await createQueue({ store: 'memory:shared' })]
    await first.add('x', [])
    await first.close()
    expect((await second.counts()).waiting).toBe(1)
    await second.close()
    const third = await createQueue({ store: 'memory:shared' })
    expect((await third.counts()).waiting).toBe(0)
    await third.close()
    expect(await message(third.counts())).toMatch(/^QueueClosedError/)
  })
})

describe('add', () => {
  it('names a misspelt option, and lists those there are', async () => {
    const queue = await open()
    const text = await message(queue.add('x', [], { priorty: 1 } as never))
    expect(text).toMatch(/^TypeError: Unknown option 'priorty' of queue.add; did you mean 'priority'\?/)
    for (const name of Object.keys(ADD_OPTIONS)) expect(text).toContain(name)
  })

  it.each([
    [{ id: '' }, "'id'"],
    [{ id: 'x'.repeat(256) }, "'id'"],
    [{ id: '\ud800' }, "'id'"],
    [{ id: 'a\0b' }, "'id'"],
    [{ delay: -1 }, "'delay'"],
    [{ delay: 1, runAt: 2 }, "'runAt' and 'delay' exclude each other"],
    [{ runAt: 'tomorrow' }, "'runAt'"],
    [{ runAt: new Date('tomorrow') }, 'milliseconds since the epoch; it was given an invalid Date.'],
    [{ ttl: 5, delay: 5 }, "'ttl'"],
    [{ ttl: 5, runAt: new Date(Date.now() + 60_000) }, "'ttl'"],
    [{ priority: 0.5 }, "'priority'"],
    [{ timeLimit: 1, softTimeLimit: 2 }, "'timeLimit'"],
    [{ dependsOn: 'x' }, "'dependsOn'"],
    [{ dependsOn: ['x', 7] }, "'dependsOn[1]'"],
    [{ onFailedDependency: 'wait' }, "'onFailedDependency'"],
    [{ dedup: { ttl: 1 } }, "'dedup.key'"],
    [{ keep: { completed: { age: -1 } } }, "'keep.completed.age'"],
    [{ backoff: { kind: 'linear', delay: 1 } }, "'backoff.kind'"],
    [{ backoff: { kind: 'exponential', delay: 5, maxDelay: 4 } }, "'backoff.maxDelay' must be at least the delay of 5 ms; it was given 4."],
  ])('refuses %j', async (options, text) => {
    const queue = await open()
    expect(await message(queue.add('x', [], options as never))).toContain(text)
    expect(await queue.jobs()).toEqual([])
  })

  it('refuses what is too large, with its size', async () => {
    const queue = await open()
    expect(await message(queue.add('x', ['a'.repeat(1024 * 1024)]))).toMatch(/^SerializationError: The arguments of 'x' take 10485\d\d bytes/)
    expect(await message(queue.add('x', [() => {}]))).toMatch(/^SerializationError/)
    expect(await message(queue.add('x', 'no array' as never))).toContain("'args'")
    for (const task of ['', 'a\0b', '\ud800', 'x'.repeat(256)]) expect(await message(queue.add(task as never, []))).toContain("'task'")
  })

  it('takes arguments at the call', async () => {
    const queue = await open()
    const given = [1]
    const adding = queue.add('x', [given])
    given.push(2)
    expect((await (await adding).details())!.args).toEqual([[1]])
  })

  it('uses the defaults of the queue for what is absent', async () => {
    const queue = await open({ defaults: { priority: 3, delay: 60_000 } })
    const [a, b] = [await queue.add('x', []), await queue.add('x', [], { priority: undefined as never, runAt: Date.now() - 1 })]
    expect(await a.details()).toMatchObject({ priority: 3, state: 'delayed' })
    expect(await b.details()).toMatchObject({ priority: 3, state: 'waiting' })
  })

  it('answers with the job that is there', async () => {
    const queue = await open()
    const first = await queue.add('x', [1], { id: 'a', dedup: { key: 'k' } })
    expect(first.added).toBe(true)
    const jobs = await Promise.all(Array.from({ length: 100 }, () => queue.add('x', [2], { id: 'a' })))
    expect(jobs.every(({ added, seq }) => !added && seq === first.seq)).toBe(true)
    expect(await queue.add('x', [3], { dedup: { key: 'k' } })).toMatchObject({ id: 'a', added: false })
    expect(await first.details()).toMatchObject({ args: [1] })
  })
})

describe('addBulk and addFlow', () => {
  it('add all or none', async () => {
    const queue = await open()
    expect(
      await message(
        queue.addBulk([
          { task: 'x', args: [] },
          { task: 'x', args: [], options: { delay: -1 } },
        ]),
      ),
    ).toBe("TypeError: Option 'jobs[1].options.delay' must be a number of milliseconds, 0 or more; it was given -1.")
    expect(
      await message(
        queue.addBulk([
          { task: 'x', args: [] },
          { task: 'x', args: [], options: { dependsOn: ['gone'] } },
        ]),
      ),
    ).toMatch(/^StoreError/)
    expect((await queue.counts()).waiting).toBe(0)
    expect(await message(queue.addBulk([{ task: 'x', arg: [] } as never]))).toContain("did you mean 'args'")
    const second = (job: object): Promise<string> => message(queue.addBulk([{ task: 'x', args: [] }, job as never]))
    expect(await second({ task: '', args: [] })).toContain("Option 'jobs[1].task' must be")
    expect(await second({ task: 'x', args: 7 })).toContain("Option 'jobs[1].args' must be")
    expect(await second({ task: 'x', args: [], options: 7 })).toContain("Option 'jobs[1].options' must be")
    expect(await second({ task: 'x', args: [() => 1] })).toMatch(/^SerializationError: jobs\[1\]: /)
    const jobs = await queue.addBulk(Array.from({ length: 10_000 }, (_, index) => ({ task: 'x', args: [index] })))
    expect(new Set(jobs.map(({ seq }) => seq)).size).toBe(10_000)
    expect(await message(queue.addBulk(Array.from({ length: 10_001 }, () => ({ task: 'x', args: [] }))))).toContain('at most 10000')
  })

  it('let a parent wait for its children, however deep', async () => {
    const queue = await open()
    let flow: object = { task: 'x', args: [], options: { id: 'leaf' } }
    for (let depth = 0; depth < 2_000; depth++) flow = { task: 'x', args: [], children: [flow] }
    const root = await queue.addFlow(flow as never)
    expect(await root.state()).toBe('blocked')
    expect(await queue.counts()).toMatchObject({ waiting: 1, blocked: 2_000 })
    expect((await queue.job('leaf'))!.id).toBe('leaf')
  })

  it('refuse what is wrong with a job, and say which it is', async () => {
    const queue = await open()
    expect(await message(queue.addFlow({ task: 'x', args: [], children: [{ task: 'x', args: [], options: { ttl: 0 } }] }))).toContain(
      "Option 'flow.children[0].options.ttl' must be",
    )
    const flow = (child: object): never => ({ task: 'x', args: [], children: [{ task: 'x', args: [] }, child] }) as never
    expect(await message(queue.addFlow(flow({ task: 'x', args: [], option: {} })))).toContain('flow.children[1]')
    expect(await message(queue.addFlow(flow({ task: 'x', args: [], options: { dedup: { key: 'k' } } })))).toContain('flow.children[1].options.dedup')
    expect(await queue.jobs()).toEqual([])
  })
})

describe('schedules', () => {
  it.each([
    [{ task: 'x', args: [] }, "Option 'cron' or option 'every' is missing"],
    [{ cron: '* * * * *', every: 5, task: 'x', args: [] }, "Option 'cron' and option 'every' were both given"],
    [{ cron: 'often', task: 'x', args: [] }, "'cron'"],
    [{ cron: '* * *', task: 'x', args: [] }, "Option 'cron' must be five fields (minute, hour, day of the month, month, day of the week), or six"],
    [{ cron: '0 0 0 1 1 * 2030', task: 'x', args: [] }, "or six with the second first; it was given '0 0 0 1 1 * 2030'."],
    [{ cron: '0 61 * * * *', task: 'x', args: [] }, "the minute '61' cannot be read; it was given '0 61 * * * *'."],
    [{ cron: '0 9 * * MON-FRY', task: 'x', args: [] }, "the day of the week 'MON-FRY' cannot be read"],
    [{ cron: '0 0 30 2 *', task: 'x', args: [] }, 'no tick to come'],
    [
      { cron: '* * * * *', timeZone: 'Europe/Zuerich', task: 'x', args: [] },
      "Option 'timeZone' must be a time zone, such as 'Europe/Berlin'; there is none named 'Europe/Zuerich'.",
    ],
    [{ every: 5, timeZone: 'UTC', task: 'x', args: [] }, "Option 'timeZone' is for 'cron', and there is 'every'."],
    [{ every: 5, catchup: 'all', task: 'x', args: [] }, "did you mean 'catchUp'"],
    [{ every: 5, task: 'x', args: [], options: { delay: 5 } }, "'options.delay'"],
    [{ every: 5, args: [] }, "'task'"],
    [{ every: 5, task: 'x' }, "'args'"],
  ])('refuse %j', async (schedule, text) => {
    const queue = await open()
    expect(await message(queue.schedule('k', schedule as never))).toContain(text)
    expect(await queue.schedules()).toEqual([])
  })

  it('take fields of five or six, names in them, and a pattern that is one word', async () => {
    const queue = await open()
    for (const cron of ['*/5 * * * *', '30 0 9 * * MON-FRI', '@hourly', '0 0 L * *']) await queue.schedule(cron, { cron, task: 'x', args: [] })
    expect((await queue.schedules()).length).toBe(4)
  })

  it('are the same only when their key is', async () => {
    const queue = await open()
    const cron = '0 3 * * *'
    await queue.schedule('a', { cron, timeZone: 'Europe/Berlin', task: 'x', args: [1] })
    await queue.schedule('b', { cron, timeZone: 'Europe/Berlin', task: 'x', args: [1] })
    await queue.schedule('a', { cron, timeZone: 'Europe/Berlin', task: 'x', args: [2], catchUp: 'all' })
    const [a, b] = await queue.schedules()
    expect(a).toMatchObject({ key: 'a', cron, timeZone: 'Europe/Berlin', args: [2], catchUp: 'all' })
    expect(b).toMatchObject({ key: 'b', args: [1], catchUp: 'one' })
    expect(a!.nextAt).toBeGreaterThan(Date.now())
  })
})

describe('jobs', () => {
  it('have ids of version 7, those of a flow too', async () => {
    const queue = await open()
    await queue.addFlow({ task: 'x', args: [], children: [{ task: 'x', args: [] }] })
    await queue.add('x', [])
    await queue.addBulk([{ task: 'x', args: [] }])
    for (const { id } of await queue.jobs()) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect((await queue.jobs()).length).toBe(4)
  })

  it('are found by query, page after page', async () => {
    const queue = await open()
    await queue.addBulk(Array.from({ length: 250 }, (_, index) => ({ task: index % 2 === 0 ? 'even' : 'odd', args: [], options: { id: `j${index}` } })))
    const first = await queue.jobs({ task: 'even' })
    expect(first.length).toBe(100)
    const second = await queue.jobs({ task: 'even', after: first.at(-1)!.seq })
    expect(second.map(({ id }) => id)).toEqual(Array.from({ length: 25 }, (_, index) => `j${200 + 2 * index}`))
    expect(await message(queue.jobs({ state: ['waiting'] } as never))).toContain("did you mean 'states'")
    expect(await message(queue.jobs({ states: ['done' as never] }))).toContain("'states[0]'")
    expect(await queue.job('none')).toBeUndefined()
  })

  it('are changed by id, ids or query, however many there are', async () => {
    const queue = await open()
    await queue.addBulk(Array.from({ length: 2_500 }, (_, index) => ({ task: 'x', args: [], options: { id: `j${index}`, delay: 60_000 } })))
    expect(await queue.promote('j1')).toEqual(['j1'])
    expect(await queue.promote(['j1', 'j2'])).toEqual(['j2'])
    expect((await queue.cancel({ states: ['delayed'], limit: 1_200 })).length).toBe(1_200)
    expect((await queue.retry({})).length).toBe(1_200)
    expect((await queue.remove({})).length).toBe(2_500)
  })

  it.each(['waiting', 'delayed', 'blocked', 'active'])('in the state %s are not cleaned: it is no end', async (state) => {
    const queue = await open()
    const first = await queue.add('x', [])
    await queue.add('x', [], { delay: 60_000 })
    await queue.add('x', [], { dependsOn: [first.id] })
    const before = await queue.counts()
    for (const age of [undefined, 0])
      expect(await message(queue.clean({ age, states: ['failed', state as never] } as never))).toBe(
        `TypeError: Option 'states[1]' must be 'completed' or 'failed' or 'expired' or 'cancelled': drain() and remove() remove what has not ended; it was given '${state}'.`,
      )
    expect(await queue.counts()).toEqual(before)
  })

  it.each([true, false])('of a queue that is not obliterated, as a job is active, stay, and it is paused only if it was: %s', async (paused) => {
    const store = `memory:queue-test-${++stores}`
    const queue = await createFromSource({ store, queue: 'q' })
    onTestFinished(() => queue.close())
    await queue.add('x', [])
    const own = await makeStore(store)
    onTestFinished(() => own.close())
    await own.open()
    const session = await own.openSession({ name: 'n', schedulers: true })
    const { jobs } = await session.claim(['q'], 1)
    if (paused) await queue.pause()
    expect(await message(queue.obliterate())).toMatch(/^QueueActiveError: The queue 'q' has 1 active job, and was left as it is: pause\(\) it/)
    expect(await queue.settings()).toEqual({ paused, rate: null })
    await session.settle(jobs[0]!, { as: 'release' })
    await queue.obliterate()
    expect(await queue.settings()).toEqual({ paused: false, rate: null })
  })

  it('cleaned, drained and obliterated are gone', async () => {
    const queue = await open()
    await queue.addBulk(['a', 'b', 'c', 'd'].map((id) => ({ task: 'x', args: [], options: { id, ...(id > 'b' ? { delay: 60_000 } : {}) } })))
    await queue.cancel(['a', 'c'])
    expect(await message(queue.clean({ state: ['failed'] } as never))).toMatch(/Unknown option 'state' of options; did you mean 'states'/)
    expect(await message(queue.clean({ age: '1h' } as never))).toMatch(/^TypeError: Option 'age' must be/)
    expect(await message(queue.cancel(undefined as never))).toMatch(/'jobs' must be an id, an array of ids, or a query/)
    expect(await queue.clean({ age: 60_000 })).toBe(0)
    expect(await queue.clean({ states: ['failed'] })).toBe(0)
    expect(await queue.clean()).toBe(2)
    expect(await queue.drain()).toBe(1)
    expect(await queue.drain({ delayed: true })).toBe(1)
    await queue.add('x', [])
    await queue.schedule('k', { every: 60_000, task: 'x', args: [] })
    await queue.limit('5/s')
    await queue.obliterate()
    expect([await queue.jobs(), await queue.schedules(), await queue.settings()]).toEqual([[], [], { paused: false, rate: null }])
  })

  it('drained are gone with those that wait for them, however many there are', async () => {
    const queue = await open()
    const first = Array.from({ length: 1_500 }, (_, index) => ({ task: 'x', args: [], options: { id: `a${index}` } }))
    const second = first.map(({ options: { id } }, index) => ({ task: 'x', args: [], options: { id: `b${index}`, dependsOn: [id] } }))
    const third = second.map(({ options: { id } }, index) => ({ task: 'x', args: [], options: { id: `c${index}`, dependsOn: [id] } }))
    await queue.addBulk([...first, ...second, ...third])
    await queue.cancel('a7')
    expect(await queue.drain()).toBe(4_497)
    // It had failed before, and those that waited for it.
    expect((await queue.jobs()).map(({ id, state }) => [id, state])).toEqual([
      ['a7', 'cancelled'],
      ['b7', 'failed'],
      ['c7', 'failed'],
    ])
  })

  it('that are removed, or not over in time, have no result', async () => {
    const queue = await open()
    const job = await queue.add('x', [], { id: 'a' })
    expect(await message(job.result({ timeout: 5 }))).toMatch(/^ResultTimeoutError: The job 'a' has not ended within 5 ms/)
    expect(await message(queue.add('x', [], { dependsOn: ['y'.repeat(255)] }))).toMatch(/depends on 'y{80}…', which is not in the queue 'q'/)
    const long = await queue.add('x', [], { id: 'x'.repeat(255) })
    expect(await message(long.result({ timeout: 5 }))).toMatch(/^ResultTimeoutError: The job 'x{80}…' has/)
    await expect(job.result({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    const controller = new AbortController()
    const aborted = message(job.result({ signal: controller.signal }))
    controller.abort(new Error('enough'))
    expect(await aborted).toBe('Error: enough')
    expect(await message(job.result({ timeOut: 5 } as never))).toContain("did you mean 'timeout'")
    const removed = message(job.result())
    await job.remove()
    await queue.add('x', [], { id: 'a' })
    expect(await removed).toMatch(/^JobRemovedError/)
    expect([await job.details(), await job.state(), await job.cancel()]).toEqual([undefined, undefined, false])
    const waiting = message((await queue.job('a'))!.result())
    await queue.close()
    expect(await waiting).toMatch(/^QueueClosedError/)
  })
})

describe('limit', () => {
  it('says what a rate is, and what lifts it', async () => {
    const queue = await open()
    expect(await message(queue.limit('none'))).toBe(
      "TypeError: queue.limit(rate): the rate must be starts per second, minute or hour ('10/s', '600/m', '1000/h'), or null, which lifts the limit; it was given 'none'.",
    )
    await queue.limit('5/s')
    await queue.limit(null)
    expect(await queue.settings()).toMatchObject({ rate: null })
  })
})

describe('run', () => {
  it('names itself where an option is misspelt or not its own', async () => {
    const queue = await open()
    const run = (options: object): Promise<string> => message(queue.run(options as never))
    const misspelt = await run({ tasks: './x.js', sginal: AbortSignal.abort() })
    expect(misspelt).toMatch(/^TypeError: Unknown option 'sginal' of queue\.run; did you mean 'signal'\? It has: tasks, .*, signal\.$/)
    expect(misspelt).not.toMatch(/It has: .*\b(store|queues?),/)
    for (const name of ['store', 'queue', 'queues'])
      expect(await run({ [name]: 'x' })).toBe(
        `TypeError: Option '${name}' is not for queue.run, which runs the jobs of its own queue: runWorker and createWorker take it.`,
      )
    expect(await message(runWorker({ store: 'memory:', quue: 'x' } as never))).toMatch(/^TypeError: Unknown option 'quue' of runWorker; did you mean 'queue'\?/)
  })
})

describe('on', () => {
  it('refuses names that no event has', async () => {
    const queue = await open()
    expect(() => queue.on('complete' as never, () => {})).toThrow(/'completed'/)
    expect(() => queue.on('completed', undefined as never)).toThrow(/'listener'/)
  })

  it('tells of its own queue only, until it is ended', async () => {
    const store = `memory:queue-test-${++stores}`
    const [queue, other] = [await open({ store }), await open({ store, queue: 'other' })]
    const told: string[] = []
    const end = queue.on('waiting', ({ id }) => told.push(id))
    await other.add('x', [], { id: 'elsewhere' })
    await queue.add('x', [], { id: 'a' })
    await until('it is told', () => told.length > 0)
    end()
    await queue.add('x', [], { id: 'b' })
    const last = new Promise((resolve) => queue.on('delayed', resolve))
    await queue.add('x', [], { delay: 60_000 })
    await last
    expect(told).toEqual(['a'])
  })
})

it('a file needs Node 22.13', async () => {
  const text = await message(createQueue({ store: 'sqlite:/nowhere/jobs.db' }))
  expect(text).toMatch(/^StoreError: /)
})
