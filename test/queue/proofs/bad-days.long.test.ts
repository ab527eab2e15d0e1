import { expect, it } from 'vitest'
import { damagedBody, damagedTable, fileGone, fullDisk, shortScript } from '../../queue-soak/bad-days.js'
import { describeProofs, expectKept } from './prove.js'

describeProofs('a node and its file', () => {
  it('a full disk refuses adds, stops claims, and what has run is settled when there is room', async (test) => {
    const report = await fullDisk(2)
    if (report === undefined) {
      console.warn('**** SKIPPED: a small disk cannot be mounted here ****')
      test.skip()
    }
    expectKept(report!)
  })

  it.each(['removed', 'replaced'] as const)('a file that is %s ends the runtime, which says so', async (how) => {
    expectKept(await fileGone(how))
  })

  it.each(['job', 'job_waiting'])('a zeroed page of the b-tree %s ends the runtime, which says so', async (table) => {
    expectKept(await damagedTable(table))
  })

  it('a zeroed page of a body fails its job alone', async () => {
    const report = await damagedBody()
    expectKept(report)
    expect(report.figures.pages).toBeGreaterThan(5)
  })

  it('a script that adds one job and ends, ends, and its job is stored', async () => {
    expectKept(await shortScript())
  })
})
