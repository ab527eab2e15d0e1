import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { FLAG_PLACED, PLACE_BYTES } from '../../../src/wire/arena/place.js'
import { PlaceWriter } from '../../../src/wire/arena/place-writer.js'
import { ProtocolError, SerializationError, SoftTimeLimitError } from '../../../src/wire/errors.js'
import { JOB_HEAD } from '../../../src/wire/frame.js'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, Kind } from '../../../src/wire/messages.js'
import { ResultPlaces } from '../../../src/worker/io/places.js'
import { WorkerJob } from '../../../src/worker/jobs/job.js'
import type { TaskRun } from '../../../src/worker/tasks/load.js'
import { MemoryFile } from '../../wire/arena/memory-file.js'
import { deferred, errorOf, frameOf, Harness, jobFrame, sentBy, spin, terminated } from '../loop-harness.js'

describe('the job loop', () => {
  test('puts ACCEPTED into the kernel before the arguments are decoded and the task begins', () => {
    const seen: string[] = []
    const harness = new Harness({ look: () => void seen.push(...harness.said, ...harness.link.said) })
    const decode = WorkerJob.prototype.args
    const args = vi.spyOn(WorkerJob.prototype, 'args').mockImplementation(function (this: WorkerJob) {
      seen.push(`decodes after ${harness.said.join()}`)
      return decode.call(this)
    })
    onTestFinished(() => args.mockRestore())
    harness.give(jobFrame(1, 0, { soft: 5, hard: 9 }))
    expect(seen).toEqual(['decodes after ACCEPTED 1', 'ACCEPTED 1', 'ACCEPTED 1', 'began 0 1 5 9'])
    harness.give(jobFrame(2, 0, { raw: Buffer.from([0xff]) }))
    expect(harness.said.slice(-2)).toEqual(['ACCEPTED 2', 'READY 2'])
    expect(errorOf(harness.frames.at(-1)!)).toBeInstanceOf(SerializationError)
  })

  test('puts READY of one job and ACCEPTED of the next into one write, and reports the end of a job to the watchdog before its READY', () => {
    const harness = new Harness({ add: (a, b) => (a as number) + (b as number) })
    harness.give(jobFrame(1, 0, { args: [1, 2] }), jobFrame(2, 0, { args: [3, 4] }), jobFrame(3, 0, { args: [5, 6] }))
    expect(harness.writes).toEqual([['ACCEPTED 1'], ['READY 1', 'ACCEPTED 2'], ['READY 2', 'ACCEPTED 3'], ['READY 3']])
    expect(harness.of(Kind.READY).map(sentBy)).toEqual([3, 7, 11])
    expect(harness.link.said.slice(0, 5)).toEqual(['ACCEPTED 1', 'began 0 1 0 0', 'ended 0', 'READY 1', 'ACCEPTED 2'])
    expect(harness.frames[0]).toMatchObject({ attempt: 1, job: 1001 })
  })

  test('gives the same for all chunks into which the bytes are cut', () => {
    const bytes = Buffer.concat([jobFrame(1, 0, { args: ['x'.repeat(300)] }), jobFrame(2, 0, { args: [2] }), frameOf(Kind.QUIT, 0)])
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const harness = new Harness({ echo: (value) => value })
      harness.give(bytes.subarray(0, cut))
      harness.give(bytes.subarray(cut))
      expect(harness.of(Kind.READY).map(sentBy)).toEqual(['x'.repeat(300), 2])
      expect(harness.finished).toBe(1)
    }
  })

  test('keeps the bytes of waiting jobs when the read buffer is used again', async () => {
    const blocked = deferred()
    const harness = new Harness({ wait: () => blocked.promise, echo: (value) => value })
    const chunk = Buffer.concat([jobFrame(1, 0), jobFrame(2, 1, { args: ['kept'] })])
    harness.loop.receive(chunk)
    chunk.fill(0xee)
    blocked.resolve(undefined)
    await harness.turn()
    expect(sentBy(harness.of(Kind.READY)[1]!)).toBe('kept')
  })

  test('never starts a task out of a promise: it asks to be woken', async () => {
    const blocked = deferred()
    const harness = new Harness({ wait: () => blocked.promise, echo: (value) => value })
    harness.give(jobFrame(1, 0), jobFrame(2, 1))
    blocked.resolve('waited')
    await new Promise((resolve) => setImmediate(resolve))
    expect(harness.said).toEqual(['ACCEPTED 1', 'READY 1'])
    expect(harness.link.wakes).toBe(1)
    harness.loop.onWake()
    expect(harness.said.slice(2)).toEqual(['ACCEPTED 2', 'READY 2'])
  })

  test('runs as many jobs at once as it has slots, each in its own', async () => {
    const blocked = [deferred(), deferred(), deferred()]
    const harness = new Harness({ wait: (index) => blocked[index as number]!.promise }, {}, { concurrency: 2 })
    harness.give(...[0, 1, 2].map((index) => jobFrame(index + 1, 0, { args: [index] })))
    expect(harness.said).toEqual(['ACCEPTED 1', 'ACCEPTED 2'])
    blocked[1]!.resolve('second')
    await harness.turn()
    expect(harness.said.slice(2)).toEqual(['READY 2', 'ACCEPTED 3'])
    expect(harness.link.said).toContain('began 1 3 0 0')
  })

  test('drops the jobs that were recalled, and runs those behind them', async () => {
    const blocked = deferred()
    const harness = new Harness({ wait: () => blocked.promise, echo: (value) => value })
    harness.give(jobFrame(1, 0), jobFrame(2, 1), jobFrame(3, 1))
    expect(harness.link.recaller.recall(3)).toBe(1)
    harness.give(jobFrame(4, 1, { args: ['beyond'] }))
    blocked.resolve(undefined)
    await harness.turn()
    expect(harness.said).toEqual(['ACCEPTED 1', 'READY 1', 'ACCEPTED 4', 'READY 4'])
  })

  test('handles PULL and QUIT behind waiting jobs at once, and reports once that it has finished', async () => {
    const blocked = deferred()
    const harness = new Harness({ wait: () => blocked.promise })
    harness.give(jobFrame(1, 0), jobFrame(2, 0), frameOf(Kind.QUIT, 0))
    expect(harness.finished).toBe(0)
    blocked.resolve(1)
    await harness.turn()
    await harness.turn()
    expect(harness.of(Kind.READY)).toHaveLength(2)
    expect(harness.finished).toBe(1)
  })

  test.each([
    ['of an unknown kind', frameOf(99 as Kind, 1)],
    ['that is too long', Buffer.from([0xff, 0xff, 0xff, 0x7f, 0])],
    ['that is too short', Buffer.from([3, 0, 0, 0, 1, 2, 3])],
    ['JOB without its head', frameOf(Kind.JOB, 1)],
    ['PULL without its credit', frameOf(Kind.PULL, 1)],
  ])('a frame %s is a protocol error', (_what, frame) => {
    const harness = new Harness({})
    harness.give(frame)
    expect(harness.broken).toHaveLength(1)
    expect(harness.broken[0]).toBeInstanceOf(ProtocolError)
  })
})

describe('limits and cancellation', () => {
  test('the soft limit and a cancellation abort the signal of their job, also if the signal is read later', async () => {
    const signals: AbortSignal[] = []
    const blocked = deferred()
    const harness: Harness = new Harness(
      {
        wait: () => {
          const job = harness.loop.running.at(-1)!
          if (signals.length === 0) signals.push(job.signal)
          return blocked.promise
        },
      },
      {},
      { concurrency: 2 },
    )
    harness.give(jobFrame(1, 0), jobFrame(2, 0))
    harness.loop.onSoftLimit(1, 50)
    expect(signals[0]!.reason).toBeInstanceOf(SoftTimeLimitError)
    expect(signals[0]!.reason).toMatchObject({ limit: 50 })
    harness.loop.onCancel(2, 'enough', false)
    harness.loop.onCancel(1, 'too late to be the reason', false)
    expect(harness.loop.running.map(({ signal }) => [signal.aborted, signal.reason])).toEqual([
      [true, signals[0]!.reason],
      [true, 'enough'],
    ])
    harness.loop.onCancel(77, 'nobody', false)
    blocked.resolve('anyhow')
    await harness.turn()
    expect(harness.of(Kind.READY).map(sentBy)).toEqual(['anyhow', 'anyhow'])
  })

  test('an interrupted call is settled with its stack; waiting and running jobs go on', async () => {
    const blocked = deferred()
    let cleaned = false
    const harness = new Harness(
      {
        spin: () => {
          try {
            spin()
          } finally {
            cleaned = true
          }
        },
        wait: () => blocked.promise,
        echo: (value) => value,
      },
      {},
      { concurrency: 2 },
    )
    harness.give(jobFrame(1, 1))
    const large = jobFrame(5, 2, { args: ['cut by the chunk'] })
    terminated(() => harness.give(jobFrame(2, 0), jobFrame(3, 2, { args: ['held'] }), jobFrame(4, 2, { args: ['held too'] }), large.subarray(0, 11)))
    expect(cleaned).toBe(false)
    expect(harness.said).toEqual(['ACCEPTED 1', 'ACCEPTED 2'])
    harness.loop.onInterrupted(2, 'soft', '    at spin')
    const [ready] = harness.of(Kind.READY)
    expect(ready).toMatchObject({ delivery: 2, flags: FLAG_ERROR | FLAG_INTERRUPTED | FLAG_SOFT })
    expect(ready!.payload.toString()).toBe('    at spin')
    harness.give(large.subarray(11))
    blocked.resolve('the neighbour')
    await harness.turn()
    expect(harness.of(Kind.READY).map(({ delivery }) => delivery)).toEqual([2, 3, 4, 5, 1])
    expect(harness.of(Kind.READY).slice(1).map(sentBy)).toEqual(['held', 'held too', 'cut by the chunk', 'the neighbour'])
    expect(harness.broken).toEqual([])
  })

  test('what a job reports is written outside of the call that may be terminated', () => {
    const marks: number[] = []
    const harness: Harness = new Harness({
      talk: () => {
        const job = harness.loop.running[0]!
        harness.loop.reports.write(job, 'stdout', 'a line\n')
        marks.push(harness.link.sync)
        harness.loop.reports.progress(job, 1)
        marks.push(harness.link.sync)
      },
    })
    const write = harness.link.beforeWrite
    const during: number[] = []
    harness.link.beforeWrite = () => {
      during.push(harness.link.sync)
      write.call(harness.link)
    }
    harness.give(jobFrame(1, 0))
    expect(marks).toEqual([1, 1])
    expect(during).toEqual([0, 0, 0, 0])
    expect(harness.link.sync).toBe(0)
  })
})

describe('hooks around jobs', () => {
  test('get each job and its outcome; an error of a start hook fails the job, an error of an end hook is a fault', async () => {
    const seen: string[] = []
    const harness = new Harness(
      { work: async (how) => (how === 'throw' ? Promise.reject(new Error('failed')) : how), spin: () => spin() },
      {
        jobStart: [
          ({ id }) => {
            seen.push(`start ${id}`)
            if (id === 'refused') throw new Error('not today')
          },
        ],
        jobEnd: [
          ({ id, outcome, attempt }) => {
            seen.push(`end ${id} ${outcome} ${attempt}`)
            if (outcome === 'failed') throw new Error('the hook failed')
          },
        ],
      },
    )
    harness.give(jobFrame(1, 0, { meta: { id: 'a' } }))
    await harness.turn()
    harness.give(jobFrame(2, 0, { meta: { id: 'refused' } }), jobFrame(3, 0, { meta: { id: 'b' }, args: ['throw'] }))
    await harness.turn()
    terminated(() => harness.give(jobFrame(4, 1, { meta: { id: 'c' } })))
    harness.loop.onInterrupted(4, 'cancel', '')
    expect(seen).toEqual([
      'start a',
      'end a succeeded 1',
      'start refused',
      'end refused failed 1',
      'start b',
      'end b failed 1',
      'start c',
      'end c interrupted 1',
    ])
    expect(errorOf(harness.of(Kind.READY)[1]!)).toMatchObject({ message: 'not today' })
    expect(errorOf(harness.of(Kind.READY)[2]!)).toMatchObject({ message: 'failed' })
    expect(harness.faults.map(({ error, job }) => [(error as Error).message, job.delivery])).toEqual([
      ['the hook failed', 2],
      ['the hook failed', 3],
    ])
  })
})

describe('a job whose arguments come by place', () => {
  const CAPACITY = 100_000
  const setUp = (tasks: Record<string, TaskRun>) => {
    const jobs = new MemoryFile(CAPACITY)
    const writer = new PlaceWriter(jobs, CAPACITY, 100)
    const harness = new Harness(tasks, { places: new ResultPlaces(jobs, new MemoryFile(CAPACITY), CAPACITY, 1 << 20) })
    const frame = (delivery: number, args: unknown[]): Buffer => {
      const whole = jobFrame(delivery, 0, { args })
      writer.write([whole.subarray(JOB_HEAD)], whole.length - JOB_HEAD, delivery)
      const short = Buffer.concat([whole.subarray(0, JOB_HEAD), Buffer.alloc(PLACE_BYTES)])
      short.writeUInt32LE(short.length - 4, 0)
      short[5]! |= FLAG_PLACED
      writer.describe(short, JOB_HEAD)
      return short
    }
    return { jobs, harness, frame }
  }

  test('is read after its claim and before its ACCEPTED, after which the host uses that memory again', () => {
    const seen: unknown[] = []
    const { jobs, harness, frame } = setUp({ look: (bytes) => void seen.push(bytes) })
    const given = frame(1, [Buffer.alloc(9_000, 5)])
    const read = jobs.read.bind(jobs)
    jobs.read = (...args) => {
      expect([harness.said, Atomics.load(harness.link.word, 0)]).toEqual([[], 1])
      const done = read(...args)
      jobs.bytes.fill(0xee)
      return done
    }
    harness.give(given)
    expect(harness.said).toEqual(['ACCEPTED 1', 'READY 1'])
    expect(seen).toEqual([Buffer.alloc(9_000, 5)])
  })

  test('is not read when it was taken back: the host has used that memory again', () => {
    const { jobs, harness, frame } = setUp({ echo: (value) => value })
    const given = [frame(1, ['x'.repeat(200)]), frame(2, ['y'.repeat(200)])]
    harness.give(given[0]!)
    harness.link.recaller.recall(2)
    jobs.bytes.fill(0xee)
    const reads = jobs.calls.length
    harness.give(given[1]!)
    expect(jobs.calls).toHaveLength(reads)
    expect(harness.said).toEqual(['ACCEPTED 1', 'READY 1'])
    expect(harness.broken).toEqual([])
  })

  test('whose memory holds other bytes ends the worker before the job is accepted', () => {
    const { jobs, harness, frame } = setUp({ echo: (value) => value })
    const given = frame(1, ['x'.repeat(200)])
    jobs.bytes.fill(0)
    harness.give(given)
    expect(harness.said).toEqual([])
    expect(harness.broken).toEqual([expect.objectContaining({ message: expect.stringContaining('does not hold the') })])
  })
})
