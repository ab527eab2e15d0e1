/** Short forms of `npm run soak:queue -- --kills 100`. */
import { expect, it } from 'vitest'
import { randomOf } from '../../farm-soak/plan.js'
import { killAroundTicks, killNodes, killProducers } from '../../queue-soak/kills.js'
import { describeProofs, expectKept } from './prove.js'

const seed = Number(process.env.PREFORK_SEED ?? (Math.random() * 2 ** 31) | 0)

describeProofs(`after SIGKILL (PREFORK_SEED=${seed})`, () => {
  const random = randomOf(seed)

  it('of nodes, no job is lost, confirmed twice, or begun after its end was confirmed', async () => {
    const report = await killNodes({ kills: 6, jobs: 2_500, random })
    expectKept(report)
    expect(report.figures.kills).toBeGreaterThanOrEqual(6)
  }, 120_000)

  it('of producers, what was confirmed is there, and a flow is there whole or not at all', async () => {
    const report = await killProducers({ kills: 5, flowSize: 100, random })
    expectKept(report)
    expect(report.figures['confirmed adds']).toBeGreaterThan(0)
  })

  it('around its ticks, a schedule has added one job for each', async () => {
    const report = await killAroundTicks({ kills: 8, random })
    expectKept(report)
    expect(report.figures.ticks).toBeGreaterThan(5)
  })
})
