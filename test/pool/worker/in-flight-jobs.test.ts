import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { InFlightJobs, MAX_AHEAD_BYTES, RunningJobs } from '../../../src/pool/worker/in-flight-jobs.js'
import { ProtocolError } from '../../../src/wire/errors.js'
import { makeJob } from '../jobs/jobs.js'

const setUp = (count: number) => {
  const inFlight = new InFlightJobs()
  const jobs = Array.from({ length: count }, (_, i) => makeJob(i + 1))
  for (const job of jobs) inFlight.write(job, 7)
  return { inFlight, jobs }
}
const numbers = (jobs: readonly JobRecord[]): number[] => jobs.map((job) => job.number)

describe('the jobs in flight of a worker', () => {
  test('count little where they go by place, whatever their order', () => {
    const inFlight = new InFlightJobs()
    inFlight.setPlaces(16_384, 8 << 20)
    const sizes = [100, 16_383, 16_384, 1 << 20, 4 << 20, (4 << 20) + 1]
    const counted = sizes.map((size, i) => {
      const before = inFlight.sentBytes
      inFlight.write(makeJob(i + 1, { size }), 7)
      return inFlight.sentBytes - before
    })
    expect(counted).toEqual([100, 16_383, 6_400, 2 * MAX_AHEAD_BYTES, 8 * MAX_AHEAD_BYTES, (4 << 20) + 1])
    for (let delivery = 1; delivery <= 3; delivery++) inFlight.accept(delivery)
    inFlight.recalled(3, 6)
    expect(inFlight.sentBytes).toBe(0)
  })

  test('count as what goes through the pipe while there is no room for places', () => {
    const inFlight = new InFlightJobs()
    inFlight.setPlaces(1_000, 1 << 20)
    const write = (number: number, size: number, placed: boolean): number => {
      const job = makeJob(number, { size })
      inFlight.write(job, 7)
      inFlight.wentByPlace(job, placed)
      return inFlight.sentBytes
    }
    expect([write(1, 10_000, true), write(2, 10_000, false), write(3, 100, false)]).toEqual([3_907, 20_000, 20_100])
    inFlight.accept(1)
    expect(inFlight.sentBytes).toBe(10_100)
    expect(write(4, 10_000, true)).toBe(7_914)
    for (const delivery of [2, 3, 4]) inFlight.accept(delivery)
    expect(inFlight.sentBytes).toBe(0)
  })

  test('do not count as without room when they are too large for any place, whatever the memory', () => {
    const inFlight = new InFlightJobs()
    inFlight.setPlaces(1_000, 1 << 30)
    const large = makeJob(1, { size: (16 << 20) + 1 })
    inFlight.write(large, 7)
    inFlight.wentByPlace(large, false)
    expect(inFlight.sentBytes).toBe((16 << 20) + 1)
    inFlight.write(makeJob(2, { size: 10_000 }), 7)
    expect(inFlight.sentBytes - large.spec.size).toBeLessThan(10_000)
  })

  test('go through written, accepted and answered', () => {
    const { inFlight, jobs } = setUp(2)
    const [a, b] = jobs as [JobRecord, JobRecord]
    expect([a.worker, a.delivery, a.state, b.delivery]).toEqual([7, 1, 'writing', 2])
    expect([inFlight.inFlight, inFlight.sentBytes, inFlight.running.oldest]).toEqual([2, 20, undefined])
    inFlight.flushed()
    expect([a.state, b.state]).toEqual(['written', 'written'])
    expect(inFlight.accept(1)).toBe(a)
    expect(inFlight.accept(2)).toBe(b)
    expect([inFlight.running.oldest, inFlight.accepted, inFlight.sentBytes]).toEqual([a, 2, 0])
    expect(inFlight.answer(1)).toBe(a)
    expect([inFlight.running.oldest, inFlight.done, inFlight.inFlight]).toEqual([b, 1, 1])
  })

  test('only what was writing becomes written', () => {
    const { inFlight, jobs } = setUp(1)
    inFlight.flushed()
    jobs[0]!.settle({ state: 'cancelled', error: 'x' })
    const late = makeJob(2)
    inFlight.write(late, 7)
    expect(late.state).toBe('writing')
    inFlight.flushed()
    expect([jobs[0]!.state, late.state]).toEqual(['cancelled', 'written'])
  })

  test.each([0, 2, 99])('an ACCEPTED of delivery %d out of turn is refused, and no job is lost by it', (delivery) => {
    const { inFlight, jobs } = setUp(3)
    expect(() => inFlight.accept(delivery)).toThrow(ProtocolError)
    expect([inFlight.sent.drain(), inFlight.sentBytes, inFlight.accepted]).toEqual([jobs, 30, 0])
  })

  test('ACCEPTED when nothing was written, and answers for what does not run, are refused', () => {
    const { inFlight } = setUp(1)
    expect(() => inFlight.answer(1)).toThrow('An answer for delivery 1, which is not running.')
    inFlight.accept(1)
    expect(() => inFlight.accept(2)).toThrow('ACCEPTED of delivery 2; none was written.')
    inFlight.answer(1)
    expect(() => inFlight.answer(1)).toThrow(ProtocolError)
    expect([inFlight.done, inFlight.inFlight]).toEqual([1, 0])
  })

  test('a recall brings back what was written by then and not claimed; what was claimed may still be accepted', () => {
    const { inFlight } = setUp(5)
    inFlight.accept(1)
    // RECALLED overtakes the ACCEPTED of 2 on another pipe.
    expect(numbers(inFlight.recalled(2, 4))).toEqual([3, 4])
    expect([inFlight.sent.size, inFlight.sentBytes]).toEqual([2, 20])
    expect(inFlight.accept(2).number).toBe(2)
    expect(inFlight.accept(5).number).toBe(5)
    expect(inFlight.recalled(5, 5)).toEqual([])
  })

  test('deliveries are numbered on after a recall', () => {
    const { inFlight, jobs } = setUp(2)
    expect(inFlight.recalled(0, 2)).toEqual(jobs)
    inFlight.write(jobs[1]!, 7)
    expect(jobs[1]!.delivery).toBe(3)
    inFlight.flushed()
    expect(jobs[1]!.state).toBe('written')
  })

  test('every job is in one place, whatever is written, claimed, accepted, answered and recalled', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('write' as const) },
      { weight: 3, arbitrary: fc.constant('accept' as const) },
      { weight: 2, arbitrary: fc.constant('answer' as const) },
      { weight: 1, arbitrary: fc.constant('recall' as const) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat()), { maxLength: 120, size: 'max' }), (steps) => {
        const inFlight = new InFlightJobs()
        let number = 0
        let sent: number[] = []
        const running: number[] = []
        for (const [each, any] of steps) {
          if (each === 'write') {
            inFlight.write(makeJob(++number), 1)
            sent.push(inFlight.deliveries)
          } else if (each === 'accept' && sent.length > 0) {
            const delivery = sent.shift()!
            expect(inFlight.accept(delivery).delivery).toBe(delivery)
            running.push(delivery)
          } else if (each === 'answer' && running.length > 0) {
            const [delivery] = running.splice(any % running.length, 1)
            expect(inFlight.answer(delivery!).delivery).toBe(delivery)
          } else if (each === 'recall') {
            const upTo = inFlight.deliveries - (any % 3)
            const claimed = Math.max(running.at(-1) ?? 0, upTo - (any % 7))
            const back = sent.filter((delivery) => delivery > claimed && delivery <= upTo)
            sent = sent.filter((delivery) => !back.includes(delivery))
            expect(inFlight.recalled(claimed, upTo).map((job) => job.delivery)).toEqual(back)
          } else if (each === 'flush') {
            inFlight.flushed()
            for (let i = 0; i < inFlight.sent.size; i++) expect(inFlight.sent.at(i)!.state).toBe('written')
          }
          expect([inFlight.sent.size, inFlight.running.size, inFlight.sentBytes]).toEqual([sent.length, running.length, 10 * sent.length])
        }
      }),
    )
  })
})

const jobOf = (delivery: number): JobRecord => Object.assign(makeJob(delivery), { delivery })

describe('the running jobs of a worker', () => {
  test('behave as a Map by delivery, in order of acceptance', () => {
    const step = fc.tuple(fc.constantFrom('add', 'add', 'take', 'take', 'clear'), fc.nat())
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const jobs = new RunningJobs()
        const model = new Map<number, JobRecord>()
        let delivery = 0
        for (const [each, any] of steps) {
          if (each === 'add') {
            const job = jobOf(++delivery)
            jobs.add(job)
            model.set(delivery, job)
          } else if (each === 'take') {
            // Now and then one that is not there.
            const asked = [...model.keys(), 1_000_000][any % (model.size + 1)]!
            expect(jobs.take(asked)).toBe(model.get(asked))
            model.delete(asked)
          } else if (any % 4 === 0) {
            jobs.clear()
            model.clear()
          }
          const all = [...model.values()]
          expect([...jobs]).toEqual(all)
          expect([jobs.size, jobs.oldest]).toEqual([all.length, all[0]])
          for (let each = 0; each <= delivery; each++) expect(jobs.get(each)).toBe(model.get(each))
          const wanted = any % (delivery + 1)
          expect(jobs.some((job) => job.delivery === wanted)).toBe(model.has(wanted))
        }
      }),
    )
  })
})
