import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobRecord } from '../../../src/pool/jobs/job.js'
import { RunningJobs } from '../../../src/pool/worker/running-jobs.js'
import { makeJob } from '../jobs/jobs.js'

const jobOf = (delivery: number): JobRecord => Object.assign(makeJob(delivery), { delivery })

describe('the running jobs of a worker', () => {
  test('answer as a Map by delivery would, in order of acceptance', () => {
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
