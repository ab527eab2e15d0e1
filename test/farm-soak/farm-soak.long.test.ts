import { expect, it } from 'vitest'
import { RABBITMQ_URL, withRabbit } from '../amqp/rabbit.js'
import { runFarmSoak } from './soak.js'

const seed = Number(process.env.PREFORK_SEED ?? (Math.random() * 2 ** 31) | 0)

withRabbit('a short soak of the farm', () => {
  it(`workers and nodes killed, connections cut, and every job completes (PREFORK_SEED=${seed})`, async () => {
    const report = await runFarmSoak(
      { jobs: 500, seed, url: RABBITMQ_URL, poisonEvery: 250, longest: 60, killEvery: 700, nodeShare: 0.5, cutEvery: 900, maxKills: 2, maxCuts: 1 },
      () => {},
    )
    expect(report.violations).toEqual([])
    expect(report.left).toBe(0)
    expect(report.completed + report.unlucky.length + report.poisonDead).toBe(500)
    expect(report.poisonDead).toBe(2)
    // The faults did happen.
    expect(report.workersKilled + report.nodesKilled).toBe(2)
    expect(report.cuts).toBe(1)
    expect(report.nodeStarts).toBe(2 + report.nodesKilled)
  }, 120_000)
})
