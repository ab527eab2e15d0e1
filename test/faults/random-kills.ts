import { expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'
import { scratch } from '../fixtures/support.js'

interface Resources {
  descriptors: number
  listeners: number
  children: number
}
interface Phase {
  name: string
  submitted: number
  succeeded: number
  lost: number
  kills: number
  twice: number
  missing: number
  unaccepted: number
  resettled: number
  odd: string[]
}

const seed = Number(process.env.PREFORK_SEED ?? (Math.random() * 2 ** 31) | 0)

/** Tests promises 1, 2 and 3 while workers are killed at random moments. */
export const randomKills = (kills: number, jobs: number): void => {
  it(`promises 1, 2, 3: ${kills} workers killed at random moments: every job settles once, no unaccepted job is lost, none runs twice (PREFORK_SEED=${seed})`, async () => {
    const host = startHost('random-kills.js', [seed, kills, jobs, scratch()])
    const { phases, before, after } = await host.reported<{ phases: Phase[]; before: Resources; after: Resources }>('report', 400_000)
    for (const phase of phases) {
      expect(phase.odd).toEqual([])
      expect(phase).toMatchObject({ twice: 0, missing: 0, unaccepted: 0, resettled: 0 })
      expect(phase.succeeded + phase.lost).toBe(phase.submitted)
    }
    const sum = (of: (phase: Phase) => number): number => phases.reduce((total, phase) => total + of(phase), 0)
    expect(sum((phase) => phase.kills)).toBeGreaterThanOrEqual(kills)
    expect(sum((phase) => phase.submitted)).toBeGreaterThanOrEqual(jobs)
    // A kill loses at most the running jobs of that worker: one in the first phase, three in the second.
    expect(phases[0]!.lost).toBeLessThanOrEqual(phases[0]!.kills)
    expect(phases[1]!.lost).toBeLessThanOrEqual(phases[1]!.kills * 3)
    expect(after).toEqual(before)
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  }, 420_000)
}
