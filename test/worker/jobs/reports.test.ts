import { describe, expect, test } from 'vitest'
import { SerializationError } from '../../../src/wire/errors.js'
import { Kind } from '../../../src/wire/messages.js'
import { deferred, errorOf, Harness, jobFrame, sentBy } from '../loop-harness.js'

describe('reports', () => {
  test('progress: the first at once, then at most one each 50 ms, the last before the result', async () => {
    const blocked = deferred()
    const harness: Harness = new Harness({
      work: async () => {
        const { progress } = harness.loop.reports.currentOf(harness.loop.running[0]!)
        for (let value = 0; value < 10; value += 1) progress(value)
        await blocked.promise
        progress({ last: true })
      },
    })
    const values = () => harness.of(Kind.PROGRESS).map(sentBy)
    harness.give(jobFrame(1, 0))
    expect(values()).toEqual([0])
    harness.pass(49)
    expect(values()).toEqual([0])
    harness.pass(1)
    expect(values()).toEqual([0, 9])
    blocked.resolve(1)
    await harness.turn()
    expect(values()).toEqual([0, 9, { last: true }])
    expect(harness.said.slice(-2)).toEqual(['PROGRESS 1', 'READY 1'])
    harness.pass(1000)
    expect(values()).toHaveLength(3)
  })

  test('a progress value is encoded at the call; one that cannot be sent throws in the task', () => {
    const harness: Harness = new Harness({
      work: () => {
        const { progress } = harness.loop.reports.currentOf(harness.loop.running[0]!)
        progress('first')
        const value = { at: 1 }
        progress(value)
        value.at = 2
        progress(() => {})
      },
    })
    harness.give(jobFrame(1, 0))
    expect(harness.of(Kind.PROGRESS).map(sentBy)).toEqual(['first', { at: 1 }])
    expect(errorOf(harness.of(Kind.READY)[0]!)).toBeInstanceOf(SerializationError)
  })

  test('nothing is sent that is over maxMessageSize', () => {
    const harness: Harness = new Harness(
      {
        work: () => {
          const { progress, log } = harness.loop.reports.currentOf(harness.loop.running[0]!)
          for (let line = 0; line < 8; line += 1) log('x'.repeat(600 * line))
          harness.loop.reports.write(harness.loop.running[0], 'stdout', 'short\n'.repeat(400))
          progress('y'.repeat(4000))
        },
      },
      {},
      { maxMessageSize: 2000 },
    )
    harness.give(jobFrame(1, 0))
    // The READY holds the error with its stack, whose length depends on where the code lies. The host grants it SMALL_MESSAGE_MAX.
    const reports = harness.frames.filter(({ kind }) => kind !== Kind.READY)
    expect(reports.length).toBeGreaterThan(8)
    for (const { payload } of reports) expect(payload.length).toBeLessThanOrEqual(2000)
    const lines = harness.of(Kind.LOG).flatMap((frame) => sentBy(frame) as { text: string }[])
    expect(lines.filter(({ text }) => text === 'short')).toHaveLength(400)
    expect(lines.filter(({ text }) => text !== 'short')).toHaveLength(8)
    expect(errorOf(harness.of(Kind.READY)[0]!)).toMatchObject({ message: expect.stringContaining('A progress value has ') })
  })

  test('many lines of no job are sent in frames of bounded size', () => {
    const harness = new Harness({ work: () => {} })
    harness.loop.reports.write(undefined, 'stdout', 'x\n'.repeat(20_000))
    const frames = harness.of(Kind.LOG).map((frame) => (sentBy(frame) as unknown[]).length)
    expect(frames.reduce((sum, lines) => sum + lines, 0)).toBe(20_000)
    expect(Math.max(...frames)).toBeLessThanOrEqual(1024)
  })

  test('log lines are formatted and sent at once; after the job they are lines of no job', () => {
    const logs: unknown[] = []
    const harness: Harness = new Harness({
      work: () => {
        const { log } = harness.loop.reports.currentOf(harness.loop.running[0]!)
        log('at %d', 5, { a: 1 })
        log.warn('careful')
        logs.push(...harness.of(Kind.LOG).map(sentBy))
        setTimeout(() => log('late'))
        harness.now = 7
        return log
      },
    })
    harness.give(jobFrame(1, 0))
    expect(logs).toEqual([[{ time: 1000, stream: 'log', text: 'at 5 { a: 1 }' }], [{ time: 1000, stream: 'log', text: 'careful' }]])
    harness.loop.reports.write(undefined, 'stderr', 'nobody\n')
    expect(harness.frames.at(-1)).toMatchObject({ kind: Kind.LOG, delivery: 0 })
    expect(sentBy(harness.frames.at(-1)!)).toEqual([{ time: 1007, stream: 'stderr', text: 'nobody' }])
  })

  test('a job knows its id, attempt, name and context', () => {
    const seen: unknown[] = []
    const harness: Harness = new Harness({
      work: () => {
        const { id, name, attempt, context, signal } = harness.loop.reports.currentOf(harness.loop.running[0]!)
        seen.push([id, name, attempt, context, signal.aborted])
      },
    })
    harness.give(jobFrame(1, 0), jobFrame(2, 0, { meta: { id: 'mine', context: { user: 1 } }, attempt: 3, args: [Buffer.alloc(10)] }))
    expect(seen).toEqual([
      ['pool-1001', 'work', 1, undefined, false],
      ['mine', 'work', 3, { user: 1 }, false],
    ])
  })
})
