import { beforeEach, describe, expect, test } from 'vitest'
import { InFlightJobs } from '../../../../src/pool/worker/in-flight-jobs.js'
import { RecordedJob } from '../../../../src/pool/worker/shared-memory/recorded-job.js'
import { flagsOf, LENGTH_BYTES } from '../../../../src/wire/frame.js'
import { FrameWriter } from '../../../../src/wire/frame-writer.js'
import { FLAG_META, FLAG_RECORD } from '../../../../src/wire/messages.js'
import { FakeWritable } from '../../../hub/fakes.js'
import { makeJob } from '../../jobs/jobs.js'

describe('a job whose acceptance is recorded', () => {
  let jobs: InFlightJobs
  let writer: FrameWriter
  let stream: FakeWritable
  let record: { delivery: number; at: number } | undefined
  let reads: number
  let closed: boolean
  let accepted: [number, number][]
  let recorded: RecordedJob
  beforeEach(() => {
    jobs = new InFlightJobs()
    writer = new FrameWriter()
    stream = new FakeWritable()
    record = undefined
    reads = 0
    closed = false
    accepted = []
    const file = {
      offset: 1_000,
      read: () => {
        reads++
        return record
      },
      close: () => {
        closed = true
      },
    }
    recorded = new RecordedJob(file, jobs, writer, (delivery, at) => {
      jobs.accept(delivery)
      accepted.push([delivery, at])
    })
  })
  const write = (): void => {
    jobs.write(makeJob(jobs.deliveries + 1), 1)
    writer.job({ delivery: jobs.deliveries, job: 1, attempt: 1, flags: FLAG_META, task: 0, softLimit: 0, hardLimit: 0 }, [], 0)
  }
  const flush = (): void => void writer.generator(stream).next()

  test('asks for it with a flag in its frame, and only while it is alone and not yet written', () => {
    expect(recorded.possible).toBe(false)
    write()
    expect(recorded.possible).toBe(true)
    recorded.begin()
    flush()
    expect(flagsOf(stream.bytes, LENGTH_BYTES)).toBe(FLAG_META | FLAG_RECORD)
    expect([recorded.pending, recorded.possible]).toEqual([true, false])
    write()
    expect(recorded.possible).toBe(false)
  })

  test('is impossible without a record', () => {
    write()
    expect(new RecordedJob(undefined, jobs, writer, () => {}).possible).toBe(false)
  })

  test('is found in the record once, with its time', () => {
    write()
    recorded.begin()
    recorded.acceptIfRecorded()
    expect(accepted).toEqual([])
    // What the record says of an earlier delivery means nothing for this one.
    record = { delivery: 0, at: 1 }
    recorded.acceptIfRecorded()
    expect(accepted).toEqual([])
    record = { delivery: 1, at: 7 }
    recorded.acceptIfRecorded()
    recorded.acceptIfRecorded()
    expect(accepted).toEqual([[1, 7]])
    expect([recorded.pending, reads]).toEqual([false, 3])
  })

  test.each([
    ['its answer, which has the time', () => recorded.answered(1, 1_005, 1_009, 20), 5],
    ['a line that it wrote', () => recorded.running(1, 20), 20],
    ['the ACCEPTED of a later job', () => recorded.announced(2, 20), 20],
    ['a recall that was answered with its delivery', () => recorded.recalled(1, 1, 20), 20],
  ] as const)('is proven by %s', (_, message, at) => {
    write()
    recorded.begin()
    message()
    expect(accepted).toEqual([[1, at]])
    expect(recorded.pending).toBe(false)
  })

  test('with an ACCEPTED of its own was not recorded', () => {
    write()
    recorded.begin()
    recorded.announced(1, 20)
    expect([accepted, recorded.pending]).toEqual([[], false])
  })

  test('has its ACCEPTED ignored where a recall has told of it before', () => {
    write()
    recorded.begin()
    recorded.recalled(1, 1, 20)
    expect(recorded.announced(1, 21)).toBe(false)
    write()
    expect(recorded.announced(2, 22)).toBe(true)
    expect(accepted).toEqual([[1, 20]])
  })

  test('that a recall brought back has not begun', () => {
    write()
    recorded.begin()
    recorded.recalled(0, 1, 20)
    expect([accepted, recorded.pending]).toEqual([[], false])
  })

  test('is looked for when its worker is dead, and not after it was closed', () => {
    write()
    recorded.begin()
    record = { delivery: 1, at: 7 }
    recorded.acceptIfRecorded()
    recorded.close()
    recorded.acceptIfRecorded()
    expect([accepted, closed, recorded.pending]).toEqual([[[1, 7]], true, false])
  })

  test('a time in the future, or none, becomes now', () => {
    expect([recorded.answered(1, 0, 1_009, 20), recorded.answered(1, 0, 5_000, 20), recorded.answered(1, 0, Number.NaN, 20)]).toEqual([9, 20, 20])
  })
})
