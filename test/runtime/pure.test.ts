import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { identityOf } from '../../src/runtime/active-job.js'
import { BoundedMap } from '../../src/runtime/collections/bounded-map.js'
import { DeliveryChannels } from '../../src/runtime/collections/delivery-channels.js'
import type { Counts, HistoryEntry, JobHeaders } from '../../src/runtime/delivery.js'
import { errorLine, MAX_HISTORY, serializeError, withHistory } from '../../src/runtime/message/serialized-error.js'
import { COMMAND_NAMES, readCommand } from '../../src/runtime/report/commands.js'
import { endEntry, type TaskEntry, TaskHistory } from '../../src/runtime/report/task-history.js'
import { failureOutcome, type PolicyOptions, RetryPolicy, retryDelay, type TriedJob } from '../../src/runtime/retry-policy.js'
import { NO_HEADERS } from '../fixtures/memory-broker.js'

describe('the delay before another attempt', () => {
  it('is fixed, or doubles up to its maximum', () => {
    expect([1, 2, 9].map((attempt) => retryDelay({ kind: 'fixed', delay: 50 }, attempt))).toEqual([50, 50, 50])
    const exponential = { kind: 'exponential', delay: 100, maxDelay: 1_000 } as const
    expect([1, 2, 3, 4, 5, 50, 2_000].map((attempt) => retryDelay(exponential, attempt))).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000])
  })

  it('never overflows a timer, and jitter takes at most its share', () => {
    expect(retryDelay({ kind: 'exponential', delay: 1_000 }, 5_000)).toBe(0x7fff_ffff)
    expect(retryDelay({ kind: 'fixed', delay: 1_000, jitter: 0.2 }, 1, () => 0)).toBe(1_000)
    expect(retryDelay({ kind: 'fixed', delay: 1_000, jitter: 0.2 }, 1, () => 1)).toBe(800)
  })
})

it('a delivery is identified by its id and every count, and never without an id', () => {
  const counts: Counts = { attempt: 1, losses: 2, requeues: 3 }
  const same = identityOf('a', counts)
  expect(identityOf('a', { ...counts })).toBe(same)
  for (const other of [{ attempt: 2 }, { losses: 0 }, { requeues: 4 }]) expect(identityOf('a', { ...counts, ...other })).not.toBe(same)
  expect(identityOf('b', counts)).not.toBe(same)
  // No two deliveries have the same identity.
  expect(identityOf('3.a', { attempt: 1, losses: 2, requeues: 3 })).not.toBe(identityOf('a', { attempt: 1, losses: 2, requeues: 33 }))
  const untried = { attempt: 1, losses: 0, requeues: 0 }
  const retried = identityOf('a', { ...untried, attempt: 2 })!
  expect(identityOf('a', untried)).not.toBe(retried)
  expect(identityOf(retried, untried)).not.toBe(retried)
  expect(identityOf(undefined, counts)).toBeUndefined()
})

it('a bounded map keeps the newest entries, at most twice as many as asked', () => {
  const map = new BoundedMap<number>(10)
  for (let index = 0; index < 1_000; index++) {
    map.set(`k${index}`, index)
    map.set('again', index)
    const kept = Array.from({ length: index + 1 }, (_, each) => map.has(`k${each}`))
    expect(kept.lastIndexOf(false)).toBeLessThanOrEqual(Math.max(-1, index - 9))
    expect(kept.filter(Boolean).length).toBeLessThanOrEqual(20)
    expect(map.get('again')).toBe(index)
  }
  expect(map.get('k1')).toBeUndefined()
})

it('a bounded map finds what two plain maps find, whatever the keys have in common', () => {
  const key = fc.oneof(fc.constantFrom('', 'a', 'aa', 'long-0000000000000000', 'long-0000000000000001'), fc.string({ unit: 'binary', maxLength: 20 }))
  const step = fc.record({ do: fc.constantFrom('set', 'set', 'set', 'delete', 'get'), key })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 40 }), (steps, max) => {
      const map = new BoundedMap<number>(max)
      let [young, old] = [new Map<string, number>(), new Map<string, number>()]
      steps.forEach(({ do: what, key: each }, i) => {
        if (what === 'set') {
          map.set(each, i)
          young.set(each, i)
          if (young.size >= max) [young, old] = [new Map(), young]
        } else if (what === 'delete') {
          map.delete(each)
          young.delete(each)
          old.delete(each)
        }
        expect([map.get(each), map.has(each)]).toEqual([young.get(each) ?? old.get(each), young.has(each) || old.has(each)])
        expect(map.isEmpty).toBe(young.size + old.size === 0)
      })
    }),
  )
})

it('a bounded map lists each value once, older ones first', () => {
  const map = new BoundedMap<string>(2)
  for (const [key, value] of ['a1', 'b1', 'a2']) map.set(key!, value!)
  expect(map.values()).toEqual(['1', '2'])
  for (const [key, value] of ['c3', 'd4']) map.set(key!, value!)
  expect(map.values()).toEqual(['2', '3', '4'])
})

it('DeliveryChannels reports a channel once, however many deliveries it has, and forgets unused channels', () => {
  const gone: AbortSignal[] = []
  const generations = new DeliveryChannels((signal) => gone.push(signal))
  const channel = new AbortController()
  const add = vi.spyOn(channel.signal, 'addEventListener')
  const remove = vi.spyOn(channel.signal, 'removeEventListener')
  for (let times = 0; times < 3; times++) generations.watch(channel.signal)
  expect(add).toHaveBeenCalledTimes(1)
  generations.forget(channel.signal)
  channel.abort()
  expect(gone).toEqual([channel.signal])
  generations.forget(channel.signal)
  const lease = new AbortController()
  const removed = vi.spyOn(lease.signal, 'removeEventListener')
  generations.watch(lease.signal)
  generations.forget(lease.signal)
  lease.abort()
  expect(gone).toEqual([channel.signal])
  expect(removed).toHaveBeenCalledTimes(1)
  expect(remove).not.toHaveBeenCalled()
})

describe('an error in a report', () => {
  it('has name, message, stack and code; any other thrown value has its text', () => {
    const error = Object.assign(new TypeError('wrong'), { code: 'E_WRONG' })
    expect(serializeError(error)).toEqual({ name: 'TypeError', message: 'wrong', stack: error.stack, code: 'E_WRONG' })
    expect(serializeError(42)).toEqual({ name: 'NonError', message: '42', stack: undefined, code: undefined })
    expect(serializeError(Object.create(null))).toMatchObject({ name: 'NonError' })
    expect(serializeError(Object.assign(new Error('x'), { code: 7 }))).toMatchObject({ code: undefined })
    const hostile = new Error('x')
    Object.defineProperty(hostile, 'message', {
      get: () => {
        throw new Error('no')
      },
    })
    expect(serializeError(hostile)).toMatchObject({ message: '' })
  })

  it('is truncated, and so is the history', () => {
    expect(errorLine(new Error('x'.repeat(5_000)))).toHaveLength(500)
    expect(serializeError(new Error('x'.repeat(5_000))).message).toHaveLength(2_000)
    const line = (attempt: number): HistoryEntry => ({ attempt, at: 0, node: 'n', outcome: 'failed', error: 'e' })
    const history = withHistory(
      Array.from({ length: 30 }, (_, index) => line(index)),
      line(99),
    )
    expect(history).toHaveLength(MAX_HISTORY)
    expect(history.at(-1)!.attempt).toBe(99)
  })
})

describe('the policy', () => {
  const policy = (options: Partial<PolicyOptions> = {}): RetryPolicy =>
    new RetryPolicy({
      ...{ maxLosses: 3, maxAttempts: 3, backoff: { kind: 'fixed', delay: 5 }, taskDefaults: {}, maxRequeues: 20 },
      ...{ unknownTask: 'retry', unknownTaskTimeout: 50_000, retries: 'node', ...options },
    })
  const tried = (counts: Partial<Counts> = {}, headers: Partial<JobHeaders> = {}, losses = 0): TriedJob => {
    const all = { attempt: 1, losses: 0, requeues: 0, ...counts }
    return { counts: all, headers: { ...NO_HEADERS, ...headers }, name: 't', newHistory: [], totalLosses: all.losses + losses }
  }

  it('gives the pool the retries that earlier losses have left', () => {
    expect(policy().retryLost(tried(), undefined)).toBe(2)
    expect(policy().retryLost(tried({ losses: 1 }), undefined)).toBe(1)
    expect(policy().retryLost(tried({ losses: 9 }), undefined)).toBe(0)
    expect(policy().retryLost(tried({ losses: 1 }), 5)).toBe(4)
    expect(policy().retryLost(tried({}, { retryLost: 0 }), 5)).toBe(0)
  })

  it('dead-letters a job that was lost too often, and republishes the others', () => {
    expect(policy().lost(tried({ losses: 1 }, {}, 1), undefined, new Error('x'))).toMatchObject({
      kind: 'republish',
      why: 'lost',
      error: { message: 'x' },
      counts: { attempt: 1, losses: 2 },
    })
    expect(policy().lost(tried({ losses: 1 }, {}, 2), undefined, new Error('x'))).toMatchObject({ kind: 'dead-letter', reason: 'lost' })
    expect(policy().lost(tried({}, { retryLost: 0 }, 1), undefined, new Error('x'))).toMatchObject({ kind: 'dead-letter' })
    // A broker that decides counts it as an attempt, and has a delay of its own.
    const headers = { maxAttempts: 2, backoff: { kind: 'fixed', delay: 15_000 } } as const
    const ofBroker = (attempt: number) => policy({ retries: 'broker' }).lost(tried({ attempt }, headers, 1), undefined, new Error('x'))
    expect(ofBroker(1)).toMatchObject({ kind: 'republish', why: 'lost', delay: 15_000, counts: { attempt: 2, losses: 1 } })
    expect(ofBroker(2)).toMatchObject({ kind: 'dead-letter', reason: 'lost' })
  })

  it('never tries again what can never succeed', () => {
    const generator = Object.assign(new Error('x'), { code: 'ERR_PREFORK_STREAM' })
    expect(policy().failed(tried(), generator)).toMatchObject({ kind: 'dead-letter', reason: 'refused', counts: { attempt: 1 } })
  })

  it('obeys the task: no further attempt, or one after its own delay, as far as the broker can wait', () => {
    const coded = (code: string, more: object = {}): Error => Object.assign(new Error('x'), { code, ...more })
    const final = coded('ERR_PREFORK_NON_RETRYABLE')
    expect(policy().failed(tried(), final)).toMatchObject({ kind: 'dead-letter', reason: 'failed', counts: { attempt: 1 } })
    expect(policy().failed(tried(), final)).not.toHaveProperty('noRetry')
    expect(policy({ retries: 'broker' }).failed(tried(), final)).toMatchObject({ kind: 'dead-letter', noRetry: true })
    const named = Object.assign(new Error('x'), { name: 'UnrecoverableError' })
    expect(policy().failed(tried(), named)).toMatchObject({ kind: 'dead-letter' })
    for (const other of [new Error('x', { cause: final }), { code: 'ERR_PREFORK_NON_RETRYABLE' }, { name: 'UnrecoverableError' }, 'UnrecoverableError', null])
      expect(policy().failed(tried(), other)).toMatchObject({ kind: 'republish' })
    const retriedAfter = (delay: unknown, job: TriedJob = tried()) => policy().failed(job, coded('ERR_PREFORK_RETRY_AFTER', { delay }))
    expect(retriedAfter(1.5)).toMatchObject({ kind: 'republish', why: 'failed', delay: 2, counts: { attempt: 2 } })
    expect(retriedAfter(0)).toMatchObject({ delay: 0 })
    expect(retriedAfter(1e12)).toMatchObject({ delay: 0x7fff_ffff })
    expect(retriedAfter(1e12, { ...tried(), maxDelay: 1_000 })).toMatchObject({ delay: 1_000 })
    expect(retriedAfter(5, tried({ attempt: 3 }))).toMatchObject({ kind: 'dead-letter' })
    // Whoever has made such an error without the class.
    for (const delay of [undefined, -1, Number.NaN, Number.POSITIVE_INFINITY, '5']) expect(retriedAfter(delay)).toMatchObject({ delay: 5 })
  })

  it('takes what a task says of itself after the message and taskDefaults, and before the node', () => {
    const ofTask = (options: object): TriedJob => ({ ...tried({ attempt: 2 }), target: { name: 't', args: [], options } })
    expect(policy().failed(ofTask({ maxAttempts: 2 }), 'x')).toMatchObject({ kind: 'dead-letter' })
    expect(policy().failed(ofTask({ backoff: { kind: 'fixed', delay: 9 } }), 'x')).toMatchObject({ delay: 9 })
    const ofNode = { t: { maxAttempts: 3, backoff: { kind: 'fixed', delay: 7 } } } as const
    expect(policy({ taskDefaults: ofNode }).failed(ofTask({ maxAttempts: 2, backoff: { kind: 'fixed', delay: 9 } }), 'x')).toMatchObject({ delay: 7 })
    const job = { ...ofTask({ maxAttempts: 2 }), headers: { ...NO_HEADERS, maxAttempts: 3 } }
    expect(policy().failed(job, 'x')).toMatchObject({ kind: 'republish' })
  })

  it('counts attempts and keeps the losses', () => {
    expect(policy().failed(tried({ attempt: 2 }, {}, 1), new Error('x'))).toMatchObject({
      kind: 'republish',
      why: 'failed',
      error: { message: 'x' },
      delay: 5,
      counts: { attempt: 3, losses: 1 },
    })
    expect(policy().failed(tried({ attempt: 3 }), new Error('x'))).toMatchObject({ kind: 'dead-letter', reason: 'failed' })
    expect(policy().failed(tried({}, { backoff: { kind: 'fixed', delay: 9 } }), new Error('x'))).toMatchObject({ delay: 9 })
    expect(policy({ taskDefaults: { t: { backoff: { kind: 'fixed', delay: 7 }, maxAttempts: 1 } } }).failed(tried({}, { maxAttempts: 2 }), 'x')).toMatchObject({
      delay: 7,
    })
  })

  it('has a job of an unknown task wait, each time as long as so far, until its time is over', () => {
    const delays: number[] = []
    let { counts } = tried({ attempt: 3 })
    for (;;) {
      const settlement = policy().unknownTask(tried(counts, { maxAttempts: 1 }), new Error('x'))
      if (settlement.kind !== 'republish') {
        expect(settlement).toMatchObject({ kind: 'dead-letter', reason: 'unknown_task', counts: { attempt: 3, unknownFor: 50_000 } })
        break
      }
      expect(settlement).toMatchObject({ why: 'unknown_task', counts: { attempt: 3, requeues: 0 } })
      delays.push(settlement.delay)
      counts = settlement.counts
    }
    expect(delays).toEqual([1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 18_000])
    expect(policy({ unknownTaskTimeout: 600_000 }).unknownTask(tried({ unknownFor: 64_000 }), 'x')).toMatchObject({ delay: 30_000 })
    expect(policy({ unknownTask: 'dead-letter' }).unknownTask(tried(), 'x')).toMatchObject({ kind: 'dead-letter' })
  })

  it('counts requeues and delays each longer, up to the limit', () => {
    expect(policy().untried(tried({ requeues: 2 }), 'x')).toMatchObject({ kind: 'republish', why: 'untried', delay: 400, counts: { attempt: 1, requeues: 3 } })
    expect([0, 1, 19].map((requeues) => policy().isolationDelay(tried({ requeues })))).toEqual([30_000, 60_000, 3_600_000])
    expect(policy().untried(tried({ requeues: 19 }), 'x', 0)).toMatchObject({ kind: 'republish', why: 'untried', delay: 0, counts: { requeues: 20 } })
    expect(policy().untried(tried({ requeues: 20 }), 'x')).toMatchObject({ kind: 'dead-letter', reason: 'redelivered' })
  })

  it('distinguishes the kinds of failures', () => {
    const coded = (code: string): Error => Object.assign(new Error('x'), { code })
    expect(failureOutcome(coded('ERR_PREFORK_TIME_LIMIT'), true)).toBe('hard_timeout')
    expect(failureOutcome(coded('ERR_PREFORK_MEMORY_LIMIT'), false)).toBe('memory_limit')
    expect(failureOutcome(new Error('x'), true)).toBe('soft_timeout')
    expect(failureOutcome(null, false)).toBe('failed')
  })
})

describe('the task history', () => {
  const record = (id: string) => ({
    ...{ id, name: 't', queue: 'q', status: 'pending' as const, counts: { attempt: 1, losses: 0, requeues: 0 }, received: 1 },
    ...{ started: undefined, ended: undefined, duration: undefined, worker: undefined, error: undefined, logs: [] },
  })

  const message = { task: 't', args: [] }
  const ended = (historyEntry: TaskEntry) => ({ historyEntry, worker: undefined, startedAt: 0, headers: { history: [] }, newHistory: [] })

  it('keeps the newest, and collects the output of running jobs', () => {
    const book = new TaskHistory(2, true)
    for (const id of ['a', 'b', 'c']) book.add(record(id), message)
    const entry = book.add(record('d'), message)
    entry.source = { logs: [{ time: 1, stream: 'stdout', text: 'hello' }] }
    expect(book.records().map(({ id }) => id)).toEqual(['c', 'd'])
    expect(book.records()[1]!.logs).toEqual([{ time: 1, stream: 'stdout', text: 'hello' }])
    endEntry(ended(entry), 'success', undefined)
    expect(entry.source).toBeUndefined()
    expect(book.records()[1]!.logs).toHaveLength(1)
    book.remove(entry)
    expect(book.records().map(({ id }) => id)).toEqual(['c'])
  })

  it('keeps a job that runs while others come and go', () => {
    const book = new TaskHistory(2, true)
    book.add(record('long'), message).record.status = 'running'
    for (const id of ['a', 'b', 'c']) book.add(record(id), message)
    expect(book.records().map(({ id }) => id)).toEqual(['long', 'c'])
    for (const id of ['d', 'e']) book.add(record(id), message).record.status = 'running'
    expect(book.records().map(({ id }) => id)).toEqual(['d', 'e'])
  })

  it('keeps the same jobs as a list of which the oldest that does not run is removed', () => {
    const steps = fc.array(fc.record({ do: fc.constantFrom('add', 'add', 'add', 'run', 'end', 'remove'), pick: fc.nat() }), { maxLength: 100 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), steps, (max, all) => {
        const book = new TaskHistory(max, false)
        const added: TaskEntry[] = []
        let model: TaskEntry[] = []
        all.forEach(({ do: what, pick }, i) => {
          const entry = added[pick % Math.max(1, added.length)]
          if (what === 'add') {
            added.push(book.add(record(String(i)), message))
            model.push(added.at(-1)!)
            const idle = model.findIndex((each) => each.record.status !== 'running')
            if (model.length > max) model.splice(idle === -1 || idle === max ? 0 : idle, 1)
          } else if (entry !== undefined && what === 'remove') {
            book.remove(entry)
            model = model.filter((each) => each !== entry)
          } else if (entry !== undefined) entry.record.status = what === 'run' ? 'running' : 'success'
          expect(book.records().map(({ id }) => id)).toEqual(model.map((each) => each.record.id))
        })
      }),
    )
  })

  it('of size 0 keeps no task', () => {
    const book = new TaskHistory(0, true)
    book.add(record('a'), message)
    expect(book.records()).toEqual([])
  })

  it('keeps no arguments of an ended job that may be large, nor of one that it has forgotten', () => {
    const book = new TaskHistory(2, true)
    const given = [[1], ['x'.repeat(201)], [{ data: Buffer.from('x') }]]
    const [small, long, nested] = given.map((args, i) => book.add(record(String(i)), { task: 't', args }))
    expect(small!.message).toBeUndefined()
    for (const entry of [small, long, nested]) endEntry(ended(entry!), 'success', undefined)
    expect([long!.message, nested!.message]).toEqual([undefined, undefined])
    expect(book.records().map((each) => each.arguments)).toEqual([`["${'x'.repeat(201)}"]`, '[{"data": <1 bytes>}]'])
    const short = book.add(record('short'), { task: 't', args: [1, 'two'] })
    endEntry(ended(short), 'success', undefined)
    // Written when somebody asks.
    expect([short.record.arguments, book.records('short')[0]!.arguments]).toEqual([undefined, '[1, "two"]'])
  })
})

describe('a remote command', () => {
  it.each([
    { command: 'ping' },
    { command: 'snapshot' },
    { command: 'snapshot', id: 'x' },
    { command: 'shutdown' },
    { command: 'shutdown', grace: 0 },
    { command: 'grow', by: 2 },
    { command: 'autoscale', min: 1, max: 4 },
    { command: 'revoke', id: 'x', terminate: true },
    { command: 'rate_limit', task: 't', limit: '10/s' },
    { command: 'rate_limit', queue: 'q', limit: null },
    { command: 'stack', worker: 1 },
  ])('%j is read as it is', (command) => {
    expect(readCommand(command)).toEqual(command)
  })

  it.each([
    [{ command: 'shutdwn' }, /no command 'shutdwn'; did you mean 'shutdown'\? There are: ping/],
    [{ command: 'constructor' }, /no command 'constructor'/],
    [{}, /no command 'undefined'/],
    ['ping', /'command' must be an object/],
    [{ command: 'grow', bye: 1 }, /Unknown option 'bye' of the command 'grow'; did you mean 'by'/],
    [{ command: 'ping', to: 'x' }, /Unknown option 'to'/],
    [{ command: 'grow', by: 0 }, /'by' must be a whole number from 1/],
    [{ command: 'autoscale', min: 3, max: 2 }, /'max' must be at least min, 3/],
    [{ command: 'autoscale', min: 3 }, /'max' must be/],
    [{ command: 'revoke' }, /exactly one of 'id' and 'key'/],
    [{ command: 'revoke', id: '' }, /'id' must be a non-empty string/],
    [{ command: 'revoke', id: 'x', key: 'y' }, /exactly one of 'id' and 'key'/],
    [{ command: 'revoke', key: 'y', queue: 'q' }, /no 'queue' with a 'key'/],
    [{ command: 'rate_limit', limit: '1/s' }, /exactly one of 'task' and 'queue'/],
    [{ command: 'rate_limit', task: 't', queue: 'q', limit: '1/s' }, /exactly one/],
    [{ command: 'rate_limit', task: 't', limit: 'fast' }, /rate limit is a number of starts/],
    [{ command: 'rate_limit', task: 't' }, /rate limit is a number of starts/],
    [{ command: 'stack' }, /'worker' must be/],
    [{ command: 'shutdown', grace: -1 }, /'grace' must be a number of milliseconds/],
  ])('%j is refused', (command, message) => {
    expect(() => readCommand(command)).toThrow(message)
  })

  it('may be any of the known ones', () => {
    expect([...COMMAND_NAMES].sort()).toEqual(
      'autoscale,grow,pause,ping,profile,quiet,rate_limit,restart,resume,revoke,shrink,shutdown,snapshot,stack,stats'.split(','),
    )
  })
})
