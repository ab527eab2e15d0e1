import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { InFlightJobs } from '../../../src/pool/worker/in-flight-jobs.js'
import { ProtocolError } from '../../../src/wire/errors.js'
import { makeJob } from '../jobs/jobs.js'

const setUp = (count: number) => {
  const books = new InFlightJobs()
  const jobs = Array.from({ length: count }, (_, i) => makeJob(i + 1))
  for (const job of jobs) books.write(job, 7)
  return { books, jobs }
}
const numbers = (jobs: readonly JobRecord[]): number[] => jobs.map((job) => job.number)

describe('the books of a worker', () => {
  test('follow each job: written, accepted, answered', () => {
    const { books, jobs } = setUp(2)
    const [a, b] = jobs as [JobRecord, JobRecord]
    expect([a.worker, a.delivery, a.state, b.delivery]).toEqual([7, 1, 'writing', 2])
    expect([books.inFlight, books.sentBytes, books.running.oldest]).toEqual([2, 20, undefined])
    books.flushed()
    expect([a.state, b.state]).toEqual(['written', 'written'])
    expect(books.accept(1)).toBe(a)
    expect(books.accept(2)).toBe(b)
    expect([books.running.oldest, books.accepted, books.sentBytes]).toEqual([a, 2, 0])
    expect(books.answer(1)).toBe(a)
    expect([books.running.oldest, books.done, books.inFlight]).toEqual([b, 1, 1])
  })

  test('only what was writing becomes written', () => {
    const { books, jobs } = setUp(1)
    books.flushed()
    jobs[0]!.settle({ state: 'cancelled', error: 'x' })
    const late = makeJob(2)
    books.write(late, 7)
    expect(late.state).toBe('writing')
    books.flushed()
    expect([jobs[0]!.state, late.state]).toEqual(['cancelled', 'written'])
  })

  test.each([0, 2, 99])('an ACCEPTED of delivery %d out of turn is refused, and no job is lost by it', (delivery) => {
    const { books, jobs } = setUp(3)
    expect(() => books.accept(delivery)).toThrow(ProtocolError)
    expect([books.sent.drain(), books.sentBytes, books.accepted]).toEqual([jobs, 30, 0])
  })

  test('ACCEPTED when nothing was written, and answers for what does not run, are refused', () => {
    const { books } = setUp(1)
    expect(() => books.answer(1)).toThrow('An answer for delivery 1, which is not running.')
    books.accept(1)
    expect(() => books.accept(2)).toThrow('ACCEPTED of delivery 2; none was written.')
    books.answer(1)
    expect(() => books.answer(1)).toThrow(ProtocolError)
    expect([books.done, books.inFlight]).toEqual([1, 0])
  })

  test('a recall brings back what was written by then and not claimed; what was claimed may still be accepted', () => {
    const { books } = setUp(5)
    books.accept(1)
    // RECALLED overtakes the ACCEPTED of 2 on another pipe.
    expect(numbers(books.recalled(2, 4))).toEqual([3, 4])
    expect([books.sent.size, books.sentBytes]).toEqual([2, 20])
    expect(books.accept(2).number).toBe(2)
    expect(books.accept(5).number).toBe(5)
    expect(books.recalled(5, 5)).toEqual([])
  })

  test('deliveries are numbered on after a recall', () => {
    const { books, jobs } = setUp(2)
    expect(books.recalled(0, 2)).toEqual(jobs)
    books.write(jobs[1]!, 7)
    expect(jobs[1]!.delivery).toBe(3)
    books.flushed()
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
        const books = new InFlightJobs()
        let number = 0
        let sent: number[] = []
        const running: number[] = []
        for (const [each, any] of steps) {
          if (each === 'write') {
            books.write(makeJob(++number), 1)
            sent.push(books.deliveries)
          } else if (each === 'accept' && sent.length > 0) {
            const delivery = sent.shift()!
            expect(books.accept(delivery).delivery).toBe(delivery)
            running.push(delivery)
          } else if (each === 'answer' && running.length > 0) {
            const [delivery] = running.splice(any % running.length, 1)
            expect(books.answer(delivery!).delivery).toBe(delivery)
          } else if (each === 'recall') {
            const upTo = books.deliveries - (any % 3)
            const claimed = Math.max(running.at(-1) ?? 0, upTo - (any % 7))
            const back = sent.filter((delivery) => delivery > claimed && delivery <= upTo)
            sent = sent.filter((delivery) => !back.includes(delivery))
            expect(books.recalled(claimed, upTo).map((job) => job.delivery)).toEqual(back)
          } else if (each === 'flush') {
            books.flushed()
            for (let i = 0; i < books.sent.size; i++) expect(books.sent.at(i)!.state).toBe('written')
          }
          expect([books.sent.size, books.running.size, books.sentBytes]).toEqual([sent.length, running.length, 10 * sent.length])
        }
      }),
    )
  })
})
