import { describe, expect, test } from 'vitest'
import { collect, endless, FakeCapacity, HandSource, MapBench, Noted, quiet } from './map-help.js'

const modes = [true, false]

describe('leaving the loop', () => {
  test.each(modes)('cancels the jobs and closes the source (ordered: %s)', async (ordered) => {
    const { source, returned } = endless()
    const bench = new MapBench(source, { ordered })
    const first = bench.next()
    await quiet()
    bench.succeed(0)
    await quiet()
    expect(first.outcome).toEqual({ value: 'result 0' })
    await bench.results.return()
    expect([bench.cancelled, returned(), await bench.results.next()]).toEqual([[1, 2, 3], 1, { done: true, value: undefined }])
    expect(bench.jobs[1]!.outcome).toMatchObject({ error: { name: 'AbortError' } })
  })

  test('waits for jobs that are asked to end', async () => {
    const { source } = endless()
    const bench = new MapBench(source, { asks: true })
    bench.next()
    await quiet()
    bench.succeed(0)
    await quiet()
    const left = new Noted(bench.results.return())
    await quiet()
    bench.succeed(1)
    bench.fail(2, new Error('stopped'))
    await quiet()
    expect([bench.cancelled, left.outcome]).toEqual([[1, 2, 3], undefined])
    bench.succeed(3)
    await quiet()
    expect(left.outcome).toEqual({ done: true })
  })

  test('waits for the source to close, but not for one that is busy', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    const next = bench.next()
    await quiet()
    await source.give(['a'])
    bench.succeed(0)
    await quiet()
    expect(next.outcome).toEqual({ value: 'result 0' })
    source.return = () => {
      source.returns++
      return new Promise(() => {})
    }
    await bench.results.return()
    expect(source.returns).toBe(1)
    await source.give(['too late'])
    expect(bench.jobs).toHaveLength(1)
  })

  test.each(['abort', 'close'] as const)('waits for a source that does not close until %s', async (end) => {
    const { source } = endless()
    source.return = () => new Promise(() => {})
    const capacity = new FakeCapacity()
    const bench = new MapBench(source, { capacity })
    bench.next()
    await quiet()
    bench.succeed(0)
    await quiet()
    const left = new Noted(bench.results.return())
    await quiet()
    expect(left.outcome).toBeUndefined()
    capacity[end](new Error('no more'))
    await quiet()
    expect([left.outcome, capacity.watched]).toEqual([{ done: true }, false])
  })

  test.each(modes)('during the wait for a result ends the wait (ordered: %s)', async (ordered) => {
    const { source, returned } = endless()
    const bench = new MapBench(source, { ordered })
    const next = bench.next()
    await quiet()
    await bench.results.return()
    expect([next.outcome, bench.cancelled, returned()]).toEqual([{ done: true }, [0, 1, 2], 1])
  })

  test('with throw() during the wait for a result ends the wait', async () => {
    const { source, returned } = endless()
    const bench = new MapBench(source)
    const next = bench.next()
    await quiet()
    const error = new Error('thrown in')
    await expect(bench.results.throw(error)).rejects.toBe(error)
    expect([next.outcome, bench.cancelled, returned()]).toEqual([{ done: true }, [0, 1, 2], 1])
  })

  test('before the first result does not touch the source', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    await bench.results.return()
    expect([source.pulls, source.returns, (await bench.results.next()).done]).toEqual([0, 0, true])
  })

  test('hides an error of the source as it closes behind the error that ended the map', async () => {
    const source = new HandSource()
    source.return = () => {
      throw new Error('the source cannot close')
    }
    const bench = new MapBench(source)
    bench.next()
    await quiet()
    await source.give(['a'])
    const error = new Error('the task failed')
    const next = bench.next()
    bench.fail(0, error)
    await quiet()
    expect(next.outcome).toEqual({ done: true })
  })
})

describe('the first error', () => {
  test.each(modes)('ends the map: the jobs are cancelled, the source is closed (ordered: %s)', async (ordered) => {
    const { source, returned } = endless()
    const bench = new MapBench(source, { ordered })
    const next = bench.next()
    await quiet()
    const error = new Error('the second failed')
    bench.fail(1, error)
    bench.fail(2, new Error('the third failed later'))
    await quiet()
    expect(next.outcome).toEqual({ error })
    expect([bench.cancelled, returned(), bench.jobs.length]).toEqual([[0], 1, 3])
    expect(await bench.results.next()).toEqual({ done: true, value: undefined })
  })

  test.each(modes)('cancels the rest at once, even while the consumer is busy (ordered: %s)', async (ordered) => {
    const { source, returned } = endless()
    const bench = new MapBench(source, { ordered })
    const first = bench.next()
    await quiet()
    bench.succeed(0)
    await quiet()
    expect(first.outcome).toEqual({ value: 'result 0' })
    const error = new Error('the third failed')
    bench.fail(2, error)
    await quiet()
    expect([bench.cancelled, returned()]).toEqual([[1, 3], 1])
    const second = bench.next()
    await quiet()
    expect(second.outcome).toEqual({ error })
  })

  test('has the frames of the loop that waits for it in its stack', async () => {
    const theLoop = async (): Promise<void> => {
      for await (const _ of bench.results) {
        // It fails before the first.
      }
    }
    const bench = new MapBench(endless().source)
    const looping = theLoop().catch((error: Error) => error.stack)
    await quiet()
    bench.fail(0, new Error('the task failed'))
    expect(await looping).toMatch(/at (async )?theLoop/)
  })

  test('may be undefined', async () => {
    const bench = new MapBench(endless().source)
    const next = bench.next()
    await quiet()
    bench.fail(0, undefined)
    await quiet()
    expect(next.outcome).toEqual({ error: undefined })
  })

  test('may be that of a job refused at once', async () => {
    const bench = new MapBench(endless().source, {
      answer: () => {
        throw new RangeError('refused')
      },
    })
    await expect(collect(bench.results)).rejects.toThrow('refused')
  })
})

describe('a source that fails', () => {
  test.each(modes)('loses no result of the jobs submitted, and its return() is not called (ordered: %s)', async (ordered) => {
    const source = new HandSource()
    const bench = new MapBench(source, { ordered })
    const nexts = [bench.next(), bench.next(), bench.next()]
    await quiet()
    await source.give(['a'])
    await source.give(['b'])
    const error = new RangeError('no more')
    await source.fail(error)
    expect(nexts.map((each) => each.outcome)).toEqual([undefined, undefined, undefined])
    bench.succeed(0)
    bench.succeed(1)
    await quiet()
    expect(nexts.map((each) => each.outcome)).toEqual([{ value: 'result 0' }, { value: 'result 1' }, { error }])
    expect([bench.cancelled, source.pulls, source.returns]).toEqual([[], 3, 0])
  })

  test('is hidden behind the error of a job that fails after it', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    const next = bench.next()
    await quiet()
    await source.give(['a'])
    await source.give(['b'])
    await source.fail(new RangeError('no more'))
    const error = new Error('the second failed')
    bench.fail(1, error)
    await quiet()
    expect([next.outcome, bench.cancelled]).toEqual([{ error }, [0]])
  })

  test('does not delay a consumer that ends the loop', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    const next = bench.next()
    await quiet()
    await source.give(['a'])
    await source.fail(new RangeError('no more'))
    await bench.results.return()
    expect([next.outcome, bench.cancelled]).toEqual([{ done: true }, [0]])
  })

  test('at its first step, or before it, is the same', async () => {
    const error = new RangeError('no more')
    const failing = {
      // biome-ignore lint/correctness/useYield: it throws before it could.
      *[Symbol.iterator]() {
        throw error
      },
    }
    const broken = {
      [Symbol.iterator](): Iterator<unknown> {
        throw error
      },
    }
    for (const source of [failing, broken]) await expect(collect(new MapBench(source).results)).rejects.toBe(error)
  })

  test('after the end of the map has no effect', async () => {
    const source = new HandSource()
    const bench = new MapBench(source)
    bench.next()
    await quiet()
    await bench.results.return()
    await source.fail(new Error('too late'))
    expect(source.returns).toBe(1)
  })
})

describe('a next() that returns no object', () => {
  test.each([5, undefined, null, 'text', Symbol('s')])('%o, runs nothing', async (answer) => {
    let asked = 0
    let returned = 0
    const source = {
      [Symbol.iterator]: () => ({
        next: () => {
          // So that a map which takes it for an item ends, too.
          if (++asked === 20) throw new Error('it was asked again')
          return answer as never
        },
        return: () => {
          returned++
          return { done: true as const, value: undefined }
        },
      }),
    }
    const bench = new MapBench(source, { answer: () => 'ran' })
    const error = await collect(bench.results).catch((reason) => reason)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toBe(`The source of pool.map: its next() must return an object, { done, value }; it returned ${String(answer)}.`)
    expect([bench.jobs.length, asked, returned]).toEqual([0, 1, 0])
  })
})

describe('a pool that closes', () => {
  test.each(modes)('loses no result of the jobs submitted, and closes the source at once (ordered: %s)', async (ordered) => {
    const capacity = new FakeCapacity()
    const { source, taken, returned } = endless()
    const bench = new MapBench(source, { ordered, capacity })
    const nexts = [bench.next(), bench.next(), bench.next(), bench.next()]
    await quiet()
    capacity.close()
    await quiet()
    expect([taken(), returned(), nexts[0]!.outcome]).toEqual([3, 1, undefined])
    for (const index of [2, 1, 0]) bench.succeed(index)
    await quiet()
    const inOrder = ['result 0', 'result 1', 'result 2']
    expect(nexts.slice(0, 3).map((each) => each.outcome?.value)).toEqual(ordered ? inOrder : inOrder.toReversed())
    expect(nexts[3]!.outcome?.error).toMatchObject({ code: 'ERR_PREFORK_POOL_CLOSED', message: expect.stringContaining('to the end: 3 jobs were run,') })
    expect([bench.cancelled, bench.jobs.length, taken()]).toEqual([[], 3, 3])
  })

  test('does not run the item that a busy source brings afterwards', async () => {
    const capacity = new FakeCapacity()
    const source = new HandSource()
    const bench = new MapBench(source, { capacity })
    const next = bench.next()
    await quiet()
    capacity.close()
    await quiet()
    expect(next.outcome?.error).toMatchObject({ message: expect.stringContaining('to the end: 0 jobs were run,') })
    await source.give(['too late'])
    expect([bench.jobs.length, source.returns]).toEqual([0, 1])
  })

  test('has no effect on a map that has taken all of its source', async () => {
    const capacity = new FakeCapacity()
    const bench = new MapBench([['a'], ['b']], { capacity })
    const got = collect(bench.results)
    await quiet()
    capacity.close()
    bench.succeed(0)
    bench.succeed(1)
    expect(await got).toEqual(['result 0', 'result 1'])
  })
})
