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
import { INTERRUPTION_SITES } from '../fixtures/interruption-site-list.js'

interface Fault {
  task: string
  args?: unknown[]
  run?: object
  pool?: object
  /** The number of objects to send as arguments. */
  size?: number
  outcome: object
}

const lost = (reason: string, more: object = {}): object => ({ name: 'WorkerLostError', reason, ...more })
const signal = (name: string): object => lost('signal', { signal: name, exitCode: null })
const SMALL_HEAP = { execArgv: ['--max-old-space-size=24'] }
const LIMIT = { timeLimit: 300 }

const FAULTS: Record<string, Fault> = {
  SIGKILL: { task: 'killSelf', args: ['SIGKILL'], pool: { workers: 2 }, outcome: signal('SIGKILL') },
  SIGSEGV: { task: 'killSelf', args: ['SIGSEGV'], outcome: signal('SIGSEGV') },
  'SIGSTOP: a frozen worker': { task: 'killSelf', args: ['SIGSTOP'], pool: { workers: 2 }, outcome: lost('frozen') },
  'process.abort()': { task: 'abort', outcome: signal('SIGABRT') },
  'process.exit(3)': { task: 'exitWith', args: [3], outcome: lost('exit', { exitCode: 3 }) },
  'an exhausted heap': { task: 'exhaustHeap', pool: SMALL_HEAP, outcome: signal('SIGABRT') },
  'a heap exhausted while the arguments are decoded': { task: 'sizeOf', size: 600_000, pool: SMALL_HEAP, outcome: signal('SIGABRT') },
  'memory over the hard limit': {
    task: 'leakAndHang',
    args: [400_000_000],
    pool: { maxMemoryPerWorker: 200_000_000, hardMemoryLimit: 300_000_000 },
    outcome: { name: 'MemoryLimitError', limit: 300_000_000 },
  },
  'a promise that never settles': { task: 'never', run: LIMIT, outcome: { name: 'TimeLimitError', limit: 300 } },
  'a promise that never settles, cancelled': { task: 'never', run: { softTimeLimit: 100 }, outcome: { name: 'SoftTimeLimitError' } },
  'the event loop blocked past the heartbeat': { task: 'spinFor', args: [1_300], outcome: { value: 1_300 } },
  "64 MB on stdout and stderr, 'ignore'": { task: 'floodBoth', args: [64_000_000, 128], pool: { workers: 2 }, outcome: { value: 'flooded' } },
  "64 MB on stdout and stderr, 'capture'": { task: 'floodBoth', args: [64_000_000, 128], pool: { output: 'capture' }, outcome: { value: 'flooded' } },
  'stdin, stdout and stderr closed': { task: 'closeFd', args: [1], outcome: { value: 'closed' } },
  'the jobs pipe closed': { task: 'closeFd', args: [3], outcome: { value: 'closed' } },
  'the results pipe closed': { task: 'closeFd', args: [4], outcome: lost('protocol') },
  'the lifeline closed': { task: 'closeFd', args: [5], outcome: {} },
  'all descriptors closed': { task: 'closeAllFds', outcome: { name: 'WorkerLostError' } },
  'junk in the jobs pipe': { task: 'junk', args: [3, 1_000], outcome: {} },
  'junk in the results pipe': { task: 'junk', args: [4, 100_000], pool: { workers: 2 }, outcome: lost('protocol') },
  'a little junk in the results pipe': { task: 'junk', args: [4, 3], outcome: lost('protocol') },
  'junk on the lifeline': { task: 'junk', args: [5, 1_000], outcome: {} },
  'a frame of an unknown kind': { task: 'forge', args: [4, `10000000ff${'00'.repeat(15)}`], outcome: lost('protocol') },
  'an answer to a job that does not run': { task: 'forge', args: [4, `1000000014000000ffffffff${'00'.repeat(8)}`], outcome: lost('protocol') },
  'an announcement that is none': { task: 'forge', args: [4, `1100000011${'00'.repeat(15)}01`], outcome: lost('protocol') },
  'process.exit, process.kill and SIGTERM disarmed': { task: 'disarmExit', outcome: { value: 'disarmed' } },
  'SIGTERM ignored': { task: 'ignoreTerm', outcome: { value: 'alive' } },
  'children and grandchildren forked': { task: 'forkChildren', outcome: { value: expect.any(Array) } },
  ...Object.fromEntries(
    INTERRUPTION_SITES.map(([site]) => [
      `a busy loop: ${site}`,
      { task: site, args: ['/dev/null'], run: LIMIT, outcome: { name: 'TimeLimitError', limit: 300 } } satisfies Fault,
    ]),
  ),
}

/** A host without output for so long has hung. */
const SILENCE_MS = 40_000
const AT_ONCE = 4

const runHost = async ({ outcome: _, ...fault }: Fault, journal: string) => {
  const args = [hostScript('fault.js'), JSON.stringify({ ...fault, journal })]
  return await execa(process.execPath, args, { reject: false, timeout: SILENCE_MS, killSignal: 'SIGKILL' })
}

describe('promises 1 to 11: a host whose task commits', () => {
  const endings = new Map<string, ReturnType<typeof runHost>>()
  const directory = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  beforeAll(() => {
    // Most of the hosts wait for a deadline, so a few run at once. Each test awaits its own.
    const running: Promise<unknown>[] = []
    for (const [index, [name, fault]] of Object.entries(FAULTS).entries()) {
      const turn = running[index - AT_ONCE] ?? Promise.resolve()
      const ending = turn.then(() => runHost(fault, join(directory, `journal-${index}`)))
      running.push(ending)
      endings.set(name, ending)
    }
  })

  it.each(Object.keys(FAULTS))('%s', { timeout: 120_000 }, async (name) => {
    const { exitCode, signal, stdout, stderr } = await endings.get(name)!
    expect({ exitCode, signal, stderr, report: stdout.slice(0, 7) }).toEqual({ exitCode: 0, signal: undefined, stderr: '', report: 'report ' })
    const { outcome, state, accepted, began, broken } = JSON.parse(stdout.slice(7))
    expect(broken).toEqual([])
    expect(outcome).toMatchObject(FAULTS[name]!.outcome)
    expect({ accepted, began }).toEqual({ accepted: true, began: true })
    expect(state).toBe('name' in outcome ? (outcome.name === 'WorkerLostError' ? 'lost' : 'failed') : 'succeeded')
  })
})
