/**
 * Commits every fault of a task in a host of its own: a host that crashes, hangs or does not exit by itself fails the test.
 * The host checks the promises that hold for every fault (test/fixtures/hosts/fault.js); this file checks the outcome of the faulty job.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostScript } from '../fixtures/hosts.js'

export interface Fault {
  task: string
  args?: unknown[]
  run?: object
  pool?: object
  /** The number of objects to send as arguments. */
  size?: number
  outcome: object
}

export const lost = (reason: string, more: object = {}): object => ({ name: 'WorkerLostError', reason, ...more })
export const signal = (name: string): object => lost('signal', { signal: name, exitCode: null })

/** A host without output for so long has hung. */
const SILENCE_MS = 40_000
const AT_ONCE = 4

const runHost = async ({ outcome: _, ...fault }: Fault, journal: string) => {
  const args = [hostScript('fault.js'), JSON.stringify({ ...fault, journal })]
  return await execa(process.execPath, args, { reject: false, timeout: SILENCE_MS, killSignal: 'SIGKILL' })
}

/** Tests each fault in a host of its own. */
export const commitFaults = (faults: Readonly<Record<string, Fault>>): void => {
  describe('promises 1 to 11: a host whose task commits', () => {
    const endings = new Map<string, ReturnType<typeof runHost>>()
    const directory = mkdtempSync(join(tmpdir(), 'prefork-test-'))
    afterAll(() => rmSync(directory, { recursive: true, force: true }))

    beforeAll(() => {
      // Most of the hosts wait for a deadline, so a few run at once. Each test awaits its own.
      const running: Promise<unknown>[] = []
      for (const [index, [name, fault]] of Object.entries(faults).entries()) {
        const turn = running[index - AT_ONCE] ?? Promise.resolve()
        const ending = turn.then(() => runHost(fault, join(directory, `journal-${index}`)))
        running.push(ending)
        endings.set(name, ending)
      }
    })

    it.each(Object.keys(faults))('%s', { timeout: 120_000 }, async (name) => {
      const { exitCode, signal, stdout, stderr } = await endings.get(name)!
      expect({ exitCode, signal, stderr, report: stdout.slice(0, 7) }).toEqual({ exitCode: 0, signal: undefined, stderr: '', report: 'report ' })
      const { outcome, state, accepted, began, broken } = JSON.parse(stdout.slice(7))
      expect(broken).toEqual([])
      expect(outcome).toMatchObject(faults[name]!.outcome)
      expect({ accepted, began }).toEqual({ accepted: true, began: true })
      expect(state).toBe('name' in outcome ? (outcome.name === 'WorkerLostError' ? 'lost' : 'failed') : 'succeeded')
    })
  })
}
