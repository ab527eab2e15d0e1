import { describe, expect, test } from 'vitest'
import { FLAG_ERROR, FLAG_UNSENDABLE, Kind } from '../../../src/wire/messages.js'
import type { TaskRun } from '../../../src/worker/tasks/load.js'
import { errorOf, Harness, jobFrame, pullFrame, sentBy } from '../loop-harness.js'

const start = async (task: TaskRun, items = 16, config = {}): Promise<Harness> => {
  const harness = new Harness({ task }, {}, config)
  harness.give(jobFrame(1, 0, { stream: true }), pullFrame(1, items))
  await harness.turn()
  return harness
}
const items = (harness: Harness): unknown[] => harness.of(Kind.ITEM).map(sentBy)

const upTo = (last: number) =>
  async function* () {
    for (let value = 0; value < last; value += 1) yield value
  }

describe('a streamed task', () => {
  test('sends items as long as there is credit, then END', async () => {
    const harness = await start(upTo(5), 2)
    expect(items(harness)).toEqual([0, 1])
    harness.give(pullFrame(1, 2))
    await harness.turn()
    expect(items(harness)).toEqual([0, 1, 2, 3])
    expect(harness.of(Kind.END)).toEqual([])
    harness.give(pullFrame(1, 2))
    await harness.turn()
    expect(items(harness)).toEqual([0, 1, 2, 3, 4])
    expect(harness.of(Kind.END)).toMatchObject([{ flags: 0, delivery: 1 }])
    expect(harness.of(Kind.READY)).toEqual([])
    // Credit for a stream that has ended is ignored.
    harness.give(pullFrame(1, 2), jobFrame(2, 0, { stream: true }), pullFrame(2, 1))
    await harness.turn()
    expect(items(harness)).toEqual([0, 1, 2, 3, 4, 0])
  })

  test('credit that comes before the job is claimed counts', async () => {
    let open = (): void => {}
    const blocked = new Promise<void>((resolve) => {
      open = resolve
    })
    const harness = new Harness({ wait: () => blocked, stream: upTo(3) })
    harness.give(jobFrame(1, 0), jobFrame(2, 1, { stream: true }), pullFrame(2, 2))
    expect(items(harness)).toEqual([])
    open()
    await harness.turn()
    expect(items(harness)).toEqual([0, 1])
  })

  test('bytes are credit too: one item may overdraw it', async () => {
    const task = async function* () {
      for (;;) yield Buffer.alloc(1000)
    }
    const harness = new Harness({ task })
    harness.give(jobFrame(1, 0, { stream: true }), pullFrame(1, 16, 1500))
    await harness.turn()
    expect(items(harness)).toHaveLength(2)
    harness.give(pullFrame(1, 0, 100))
    await harness.turn()
    expect(items(harness)).toHaveLength(2)
    harness.give(pullFrame(1, 0, 1000))
    await harness.turn()
    expect(items(harness)).toHaveLength(3)
  })

  test('may be a sync generator, any iterable, or a promise of one', async () => {
    function* generator() {
      yield 1
      yield 2
    }
    for (const task of [generator, () => [1, 2], async () => generator(), () => new Set([1, 2]), async () => upTo(2)()]) {
      const harness = await start(task)
      expect(items(harness)).toHaveLength(2)
      expect(harness.of(Kind.END)).toMatchObject([{ flags: 0 }])
    }
  })

  test('that returns no iterable fails with an error that names pool.run()', async () => {
    for (const task of [() => 5, async () => undefined, () => 'text']) {
      const harness = await start(task)
      expect(errorOf(harness.of(Kind.END)[0]!)).toMatchObject({ message: expect.stringContaining('pool.run') })
    }
  })

  test('fails after its items, with its error', async () => {
    const harness = await start(async function* () {
      yield 1
      throw new RangeError('no more')
    })
    expect(items(harness)).toEqual([1])
    expect(harness.of(Kind.END)).toMatchObject([{ flags: FLAG_ERROR }])
    expect(errorOf(harness.of(Kind.END)[0]!)).toMatchObject({ name: 'RangeError', message: 'no more' })
  })

  test('an item that cannot be sent, or is too large, closes the generator and fails the job', async () => {
    for (const item of [() => {}, 'x'.repeat(5000)]) {
      let closed = false
      const harness = await start(
        async function* () {
          try {
            yield 'fine'
            yield item
          } finally {
            closed = true
          }
        },
        16,
        { maxMessageSize: 1000 },
      )
      expect(items(harness)).toEqual(['fine'])
      expect(closed).toBe(true)
      expect(harness.of(Kind.END)).toMatchObject([{ flags: FLAG_ERROR | FLAG_UNSENDABLE }])
    }
  })

  test('a cancellation runs the finally of the generator, whether it waits for credit or in its own code', async () => {
    const seen: string[] = []
    const waiting = async function* (): AsyncGenerator<unknown> {
      const { signal } = waits.loop.reports.currentOf(waits.loop.running[0]!)
      try {
        yield 1
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        yield 'never sent'
      } finally {
        seen.push(`finally ${signal.reason}`)
      }
    }
    const waits: Harness = new Harness({ task: waiting })
    waits.give(jobFrame(1, 0, { stream: true }), pullFrame(1, 5))
    await waits.turn()
    waits.loop.onCancel(1, 'enough', false)
    await waits.turn()
    expect(seen).toEqual(['finally enough'])
    expect(items(waits)).toEqual([1])
    expect(waits.of(Kind.END)).toHaveLength(1)

    const starved = await start(function* () {
      try {
        for (;;) yield 1
      } finally {
        seen.push('sync finally')
      }
    }, 3)
    starved.loop.onCancel(1, 'enough', false)
    expect(seen).toContain('sync finally')
    expect(starved.of(Kind.END)).toHaveLength(1)
  })

  test('a cancellation before the task has returned its iterable closes that later', async () => {
    let give = (_iterable: unknown): void => {}
    const promise = new Promise((resolve) => {
      give = resolve
    })
    const harness = await start(() => promise)
    harness.loop.onCancel(1, 'enough', false)
    give(upTo(3)())
    await harness.turn()
    expect(items(harness)).toEqual([])
    expect(harness.of(Kind.END)).toHaveLength(1)
  })

  test('progress and lines come before the items that follow them', async () => {
    const harness: Harness = new Harness({
      task: async function* () {
        const { progress } = harness.loop.reports.currentOf(harness.loop.running[0]!)
        progress(1)
        yield 'a'
        progress(2)
        yield 'b'
      },
    })
    harness.give(jobFrame(1, 0, { stream: true }), pullFrame(1, 5))
    await harness.turn()
    expect(harness.said).toEqual(['ACCEPTED 1', 'PROGRESS 1', 'ITEM 1', 'PROGRESS 1', 'ITEM 1', 'END 1'])
  })
})
