import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execaSync } from 'execa'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Kind, LimitStage, NO_STACK } from '../../../src/wire/messages.js'
import { bundle, type Options, TestWorker } from './worker.js'

/** The clocks of two processes may differ by so much, ms. */
const EARLY = 10

let folder = ''
const workers: TestWorker[] = []
beforeAll(async () => {
  folder = await bundle()
})
afterEach(() => {
  for (const worker of workers.splice(0)) worker.kill()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const start = (options: Options = {}): TestWorker => {
  const worker = new TestWorker(folder, options)
  workers.push(worker)
  return worker
}
const up = async (options: Options = {}): Promise<TestWorker> => {
  const worker = start(options)
  await worker.frame(Kind.HEARTBEAT)
  await worker.event('up')
  return worker
}

describe('lifeline', () => {
  test('its end ends a worker that is in a busy loop', async () => {
    const worker = await up()
    await worker.event('accepted', worker.run('sync'))
    worker.lifeline.destroy()
    expect(await worker.exit).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('its end ends a worker that is still loading its modules', async () => {
    const worker = start({ starting: 20_000 })
    await worker.event('hello')
    worker.lifeline.destroy()
    expect((await worker.exit).signal).toBe('SIGKILL')
  })

  test('its end kills the children of the tasks, too, unless killTree is false', async () => {
    const lives = (pid: number): boolean => {
      // A zombie that its new parent has not reaped yet is dead.
      const { stdout } = execaSync('ps', ['-o', 'state=', '-p', String(pid)], { reject: false })
      return !['', 'Z'].includes(stdout)
    }
    for (const killTree of [true, false]) {
      const worker = await up({ killTree })
      const child = (await worker.value('child')) as number
      expect(lives(child)).toBe(true)
      worker.lifeline.destroy()
      await worker.exit
      if (killTree) await vi.waitFor(() => expect(lives(child)).toBe(false), 15_000)
      else {
        await delay(50)
        expect(lives(child)).toBe(true)
      }
      worker.kill()
    }
  })
})

describe('heartbeat', () => {
  test("goes on in a busy loop, with the job that runs and the age of the main thread's last turn", async () => {
    const worker = await up()
    const delivery = worker.run('sync')
    await vi.waitFor(() => {
      const { payload } = worker.frames.filter((frame) => frame.kind === Kind.HEARTBEAT).at(-1)!
      expect(payload.readDoubleLE(8)).toBeGreaterThan(300)
      expect(payload.readDoubleLE(0)).toBeGreaterThan(10e6)
      // CPU time.
      expect(payload.readDoubleLE(16)).toBeGreaterThan(50)
      expect(payload.readUInt32LE(24)).toBe(delivery)
    }, 15_000)
  })

  test('of an idle worker shows that its main thread turns', async () => {
    const worker = await up()
    const beats = (): Buffer[] => worker.frames.filter((frame) => frame.kind === Kind.HEARTBEAT).map(({ payload }) => payload)
    // Long after it started, the age of its last turn is small again and again.
    await delay(400)
    const late = beats().length
    await vi.waitFor(
      () =>
        expect(
          Math.min(
            ...beats()
              .slice(late)
              .map((beat) => beat.readDoubleLE(8)),
          ),
        ).toBeLessThan(100),
      5_000,
    )
    expect(beats().at(-1)!.readUInt32LE(24)).toBe(0)
  })
})

describe('recall', () => {
  test('takes back what was written ahead of a busy loop and never began', async () => {
    const worker = await up()
    const first = worker.run('sync', { soft: 400 })
    await worker.event('accepted', first)
    const last = [worker.run('value'), worker.run('value')].at(-1)!
    worker.send(Kind.RECALL, last, last)
    expect(await worker.frame(Kind.RECALLED)).toMatchObject({ delivery: first, job: last })
    await worker.event('interrupted', first)
    await worker.event('dropped', last)
    expect(await worker.value('value')).toBe(42)
    expect(worker.events.filter(({ event }) => event === 'accepted')).toHaveLength(2)
  })

  test('by the cancellation of a job that had not begun', async () => {
    const worker = await up()
    const first = worker.run('spin', {})
    await worker.event('accepted', first)
    const second = worker.run('value')
    worker.cancel(second, second, 'gone')
    expect(await worker.frame(Kind.RECALLED)).toMatchObject({ delivery: first, job: second })
    expect(worker.events.some(({ event }) => event === 'cancel')).toBe(false)
  })
})

const safePlaces = [
  'sync',
  'asyncHead',
  'listener',
  'inStorage',
  'inArray',
  'deep',
  'debuggers',
  'regexp',
  'sleep',
  'syncFs',
  'wasm',
  'swallows',
  'withPromises',
]
const unsafePlaces = ['afterAwait', 'inTimer', 'inTick', 'inMicrotask', 'inImmediate', 'inAsyncScope', 'inRequire']
const nativePlaces = ['exec', 'pbkdf2']

describe('soft limit', () => {
  test.each(safePlaces)('interrupts %s, and the worker goes on', async (task) => {
    const worker = await up({ cancelGrace: 10_000 })
    const delivery = worker.run(task, { soft: 100 })
    const { stack, cause } = await worker.event('interrupted', delivery)
    expect(cause).toBe('soft')
    expect(stack).toMatch(/^ {4}at .*tasks\.mjs:\d+:\d+/m)
    expect(stack).not.toMatch(/entry\.js|onStreamRead/)
    expect(await worker.frame(Kind.LIMIT, { delivery })).toMatchObject({ flags: LimitStage.SOFT })
    expect(await worker.value('store')).toBe('empty')
    expect(await worker.value('didFinallyRun')).toBe(false)
    if (task === 'withPromises') expect(await worker.value('innocents')).toBe('settled,ran')
    expect(worker.frames.filter(({ kind }) => kind === Kind.LIMIT)).toHaveLength(1)
  })

  test('interrupts what was started out of the wake callback, again and again', async () => {
    const worker = await up({ cancelGrace: 10_000 })
    for (let i = 0; i < 3; i++) {
      await worker.event('interrupted', worker.run('inStorage', { soft: 50, wake: true }))
      expect(await worker.value('store', { wake: true })).toBe('empty')
    }
  })

  test.each([...unsafePlaces, ...nativePlaces])('does not interrupt %s, and reports that the worker is stuck', async (task) => {
    // A third of the grace is for the stack, 330 ms at the most: as much as it has by default.
    const worker = await up({ cancelGrace: 1_000 })
    const before = worker.age
    const delivery = worker.run(task, { soft: 100 })
    const { payload, job, at } = await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.STUCK })
    await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.SOFT })
    // The limit, then a grace.
    expect(at - before).toBeGreaterThanOrEqual(100 + 1_000 - EARLY)
    expect(job).toBe(delivery)
    if (nativePlaces.includes(task)) expect(payload.toString()).toBe(NO_STACK)
    else expect(payload.toString()).toMatch(/tasks\.mjs|spins\.cjs/)
    expect(worker.child.exitCode ?? worker.child.signalCode).toBeNull()
    expect(worker.events.some(({ event }) => event === 'interrupted')).toBe(false)
  })

  test('only aborts the signal of a task that awaits; without a hard limit it requests the kill five cancelGrace later', async () => {
    const worker = await up({ cancelGrace: 400 })
    const before = worker.age
    const delivery = worker.run('idle', { soft: 100 })
    expect(await worker.event('soft', delivery)).toMatchObject({ limit: 100 })
    await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.SOFT })
    const hard = await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.HARD })
    expect(hard.at - before).toBeGreaterThanOrEqual(100 + 5 * 400 - EARLY)
    expect(hard.payload.toString()).toBe(NO_STACK)
    expect(worker.frames.some(({ kind, flags }) => kind === Kind.LIMIT && flags === LimitStage.STUCK)).toBe(false)
  })

  test('of one job does not touch another that runs synchronously', async () => {
    const worker = await up({ concurrency: 2 })
    const limited = worker.run('idle', { soft: 200 })
    await worker.event('accepted', limited)
    worker.run('sync', { slot: 1 })
    const { payload } = await worker.frame(Kind.LIMIT, { delivery: limited, flags: LimitStage.STUCK })
    expect(payload.toString()).toContain('spin')
    expect(worker.events.some(({ event }) => event === 'interrupted')).toBe(false)
  })

  test('does not affect other jobs, also with async hooks in use', async () => {
    const worker = await up({ concurrency: 2, cancelGrace: 10_000 })
    expect(await worker.value('withHooks')).toBe('hooked')
    const neighbour = worker.run('neighbour')
    for (let i = 0; i < 3; i++) await worker.event('interrupted', worker.run('withPromises', { slot: 1, soft: 50 }))
    expect(await worker.event('done', neighbour)).toMatchObject({ value: 'mine' })
    expect(await worker.value('innocents')).toBe('settled,ran')
  })

  test.each(['short', 'flat'])('that passes as the task (%s) ends gives one result', async (task) => {
    const worker = await up({ cancelGrace: 10_000 })
    const answers = { done: 0, interrupted: 0 }
    for (let i = 0; i < Number(process.env.PREFORK_TEST_ROUNDS ?? 30); i++) {
      const delivery = worker.run(task, { soft: 2 + (i % 28) })
      const { event } = await Promise.race([worker.event('done', delivery), worker.event('interrupted', delivery)])
      answers[event as keyof typeof answers]++
      expect(await worker.value('value')).toBe(42)
      expect(worker.events.filter((one) => one.delivery === delivery && one.event in answers)).toHaveLength(1)
    }
    expect(answers.interrupted).toBeGreaterThan(0)
  })

  test('a process that exits during an inspection is not delayed', async () => {
    const worker = await up()
    worker.run('exits', { soft: 80 })
    expect(await worker.exit).toEqual({ code: 7, signal: null })
  })

  test('a job that ends in time gets no abort', async () => {
    const worker = await up()
    for (let i = 0; i < 20; i++) expect(await worker.value('value', { soft: 500, hard: 600 })).toBe(42)
    // All the limits pass meanwhile.
    await delay(700)
    expect(worker.frames.some(({ kind }) => kind === Kind.LIMIT)).toBe(false)
  })
})

describe('hard limit', () => {
  test('closes the claim word and reports the stack', async () => {
    const worker = await up()
    const before = worker.age
    const delivery = worker.run('afterAwait', { hard: 200 })
    await worker.event('accepted', delivery)
    const { at, job, payload } = await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.HARD })
    expect(at - before).toBeGreaterThanOrEqual(200 - EARLY)
    expect(job).toBe(delivery)
    expect(payload.toString()).toMatch(/at spin .*tasks\.mjs/)
  })

  test('comes on time after a soft limit that was stuck in native code', async () => {
    const worker = await up({ cancelGrace: 2000 })
    const delivery = worker.run('pbkdf2', { soft: 50, hard: 300 })
    await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.SOFT })
    const hard = await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.HARD })
    // Before the grace of the soft one was over.
    expect(worker.frames.some(({ kind, flags }) => kind === Kind.LIMIT && flags === LimitStage.STUCK)).toBe(false)
    expect(hard.payload.toString()).toBe(NO_STACK)
  })

  test('does not count the time spent in a write of results', async () => {
    const worker = await up()
    const before = worker.age
    const delivery = worker.run('idle', { hard: 300, blocked: 700 })
    const hard = await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.HARD })
    expect(hard.at - before).toBeGreaterThanOrEqual(300 + 700 - EARLY)
  })

  test('of a shorter job begun after a longer one comes first', async () => {
    const worker = await up({ concurrency: 2 })
    worker.run('idle', { hard: 25_000 })
    const short = worker.run('idle', { hard: 100, slot: 1 })
    await worker.frame(Kind.LIMIT, { delivery: short, flags: LimitStage.HARD }, 15_000)
  })
})

describe('cancellation', () => {
  test('interrupts synchronous code at once', async () => {
    const worker = await up({ cancelGrace: 10_000 })
    const delivery = worker.run('sync')
    await worker.event('accepted', delivery)
    await delay(50)
    worker.cancel(delivery, delivery, new Error('enough'))
    expect(await worker.event('interrupted', delivery)).toMatchObject({ cause: 'cancel' })
    // Before the grace was over.
    expect(worker.frames.some(({ kind, flags }) => kind === Kind.LIMIT && flags === LimitStage.STUCK)).toBe(false)
    expect(await worker.value('value')).toBe(42)
  })

  test('reaches a task that awaits, with its reason', async () => {
    const worker = await up()
    const delivery = worker.run('idle')
    await worker.event('accepted', delivery)
    worker.cancel(delivery, delivery, 'enough')
    expect(await worker.event('cancel', delivery)).toMatchObject({ reason: 'enough' })
  })

  test('of code that cannot be interrupted reports that the worker is stuck', async () => {
    const worker = await up()
    const delivery = worker.run('inTimer')
    await worker.event('accepted', delivery)
    await delay(100)
    worker.cancel(delivery, delivery, 'enough')
    await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.STUCK })
  })

  test('has the time that its message names, in place of cancelGrace', async () => {
    const worker = await up({ cancelGrace: 600_000 })
    const delivery = worker.run('inTimer')
    await worker.event('accepted', delivery)
    await delay(100)
    worker.cancel(delivery, delivery, 'enough', 200)
    await worker.frame(Kind.LIMIT, { delivery, flags: LimitStage.STUCK })
  })
})

describe('stack', () => {
  test('on demand, of a busy loop and of an idle thread', async () => {
    const worker = await up()
    worker.send(Kind.STACK_REQUEST, 0, 1)
    expect((await worker.frame(Kind.STACK, { job: 1 })).payload.toString()).toBe(NO_STACK)
    await worker.event('accepted', worker.run('short'))
    await worker.event('accepted', worker.run('inTimer'))
    let asked = 1
    await vi.waitFor(async () => {
      worker.send(Kind.STACK_REQUEST, 0, ++asked)
      expect((await worker.frame(Kind.STACK, { job: asked })).payload.toString()).toMatch(/at spin .*tasks\.mjs/)
    }, 15_000)
  })
})

describe('thread', () => {
  test('does not run what the user preloads', async () => {
    const preload = join(folder, 'preload.cjs')
    writeFileSync(preload, `require('node:fs').writeFileSync(__dirname + '/ran-' + require('node:worker_threads').threadId, '')`)
    await up({ env: { ...process.env, NODE_OPTIONS: `--require ${preload}` }, execArgv: ['--require', preload] })
    expect(readdirSync(folder).filter((name) => name.startsWith('ran-'))).toEqual(['ran-0'])
  })

  test('lets the process end when its jobs pipe ends', async () => {
    const worker = await up()
    worker.jobs.end()
    expect(await worker.exit).toEqual({ code: 0, signal: null })
  })
})

describe('without a watchdog', () => {
  test('the main thread handles messages when it turns', async () => {
    const worker = await up({ watchdog: false })
    const first = worker.run('idle')
    await worker.event('accepted', first)
    worker.cancel(first, first, 'enough')
    expect(await worker.frame(Kind.RECALLED)).toMatchObject({ delivery: first })
    expect(await worker.event('cancel', first)).toMatchObject({ reason: 'enough' })
    worker.send(Kind.SOFT_LIMIT_REQUEST, first, 0, Buffer.from([50, 0, 0, 0]))
    expect(await worker.event('soft', first)).toMatchObject({ limit: 50 })
    worker.lifeline.destroy()
    expect((await worker.exit).signal).toBe('SIGKILL')
  })
})
