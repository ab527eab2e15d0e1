import { expect } from 'vitest'
import { INTERRUPTION_SITES } from '../fixtures/interruption-site-list.js'
import { commitFaults, type Fault, lost, signal } from './own-host.js'

const busyLoop = (task: string): Fault => ({ task, args: ['/dev/null'], run: { timeLimit: 300 }, outcome: { name: 'TimeLimitError', limit: 300 } })

const SMALL_HEAP = { execArgv: ['--max-old-space-size=24'] }
const LIMIT = { timeLimit: 300 }
const SHORT_HEARTBEAT = { heartbeatTimeout: 2_000 }

const FAULTS: Record<string, Fault> = {
  SIGKILL: { task: 'killSelf', args: ['SIGKILL'], pool: { workers: 2 }, outcome: signal('SIGKILL') },
  SIGSEGV: { task: 'killSelf', args: ['SIGSEGV'], outcome: signal('SIGSEGV') },
  'SIGSTOP: a frozen worker': { task: 'killSelf', args: ['SIGSTOP'], pool: { workers: 2, ...SHORT_HEARTBEAT }, outcome: lost('frozen') },
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
  'a promise that never settles, cancelled': {
    task: 'never',
    run: { softTimeLimit: 100 },
    pool: { cancelGrace: 200 },
    outcome: { name: 'SoftTimeLimitError' },
  },
  'the event loop blocked past the heartbeat': { task: 'spinFor', args: [2_600], pool: SHORT_HEARTBEAT, outcome: { value: 2_600 } },
  'the jobs pipe closed': { task: 'closeFd', args: [3], outcome: { value: 'closed' } },
  'the results pipe closed': { task: 'closeFd', args: [4], outcome: lost('protocol') },
  'the lifeline closed': { task: 'closeFd', args: [5], outcome: {} },
  'junk in the results pipe': { task: 'junk', args: [4, 100_000], pool: { workers: 2 }, outcome: lost('protocol') },
  'children and grandchildren forked': { task: 'forkChildren', outcome: { value: expect.any(Array) } },
  'process.abort()': { task: 'abort', outcome: signal('SIGABRT') },
  "64 MB on stdout and stderr, 'ignore'": { task: 'floodBoth', args: [64_000_000, 128], pool: { workers: 2 }, outcome: { value: 'flooded' } },
  "64 MB on stdout and stderr, 'capture'": { task: 'floodBoth', args: [64_000_000, 128], pool: { output: 'capture' }, outcome: { value: 'flooded' } },
  'stdin, stdout and stderr closed': { task: 'closeFd', args: [1], outcome: { value: 'closed' } },
  'all descriptors closed': { task: 'closeAllFds', outcome: { name: 'WorkerLostError' } },
  'junk in the jobs pipe': { task: 'junk', args: [3, 1_000], outcome: {} },
  'a little junk in the results pipe': { task: 'junk', args: [4, 3], outcome: lost('protocol') },
  'junk on the lifeline': { task: 'junk', args: [5, 1_000], outcome: {} },
  'a frame of an unknown kind': { task: 'forge', args: [4, `10000000ff${'00'.repeat(15)}`], outcome: lost('protocol') },
  'an answer to a job that does not run': { task: 'forge', args: [4, `1000000014000000ffffffff${'00'.repeat(8)}`], outcome: lost('protocol') },
  'an announcement that is none': { task: 'forge', args: [4, `1100000011${'00'.repeat(15)}01`], outcome: lost('protocol') },
  'process.exit, process.kill and SIGTERM disarmed': { task: 'disarmExit', pool: { cancelGrace: 200 }, outcome: { value: 'disarmed' } },
  'SIGTERM ignored': { task: 'ignoreTerm', outcome: { value: 'alive' } },
}

commitFaults({
  ...FAULTS,
  ...Object.fromEntries(INTERRUPTION_SITES.map(([site]) => [`a busy loop: ${site}`, busyLoop(site)])),
})
