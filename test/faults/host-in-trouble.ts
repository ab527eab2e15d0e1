import { expect, it } from 'vitest'
import { startHost } from '../fixtures/hosts.js'

/** Tests a host under each of these conditions, with what it must report; see test/fixtures/hosts/adverse-conditions.js. */
export const hostsInTrouble = (conditions: Record<string, object>): void => {
  it.each(Object.entries(conditions))('%s', async (what, expected) => {
    const host = startHost('adverse-conditions.js', [what])
    expect(await host.reported('outcome')).toEqual({ ...expected, children: 0 })
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  })
}

/** The names of the errors of a task that throws, a worker that dies, a time limit and an unknown task. */
export const ERRORS = ['Error: five', 'WorkerLostError', 'TimeLimitError', 'TaskNotFoundError']
