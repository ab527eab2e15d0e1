import { PreforkError, WorkerLostError } from 'prefork'
import { expect, it } from 'vitest'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, Journal } from '../fixtures/support.js'

const DEATHS: [string, string, unknown[], object][] = [
  ['process.exit(0)', 'exitWith', [0, 'last line'], { exitCode: 0, signal: null, reason: 'exit' }],
  ['process.exit(3)', 'exitWith', [3, 'last line'], { exitCode: 3, signal: null, reason: 'exit' }],
  ['process.abort()', 'abort', ['last line'], { exitCode: null, signal: 'SIGABRT', reason: 'signal' }],
  ['SIGKILL', 'killSelf', ['SIGKILL', 'last line'], { exitCode: null, signal: 'SIGKILL', reason: 'signal' }],
  ['SIGSEGV', 'killSelf', ['SIGSEGV', 'last line'], { exitCode: null, signal: 'SIGSEGV', reason: 'signal' }],
  ['an exhausted heap', 'exhaustHeap', ['last line'], { signal: 'SIGABRT', reason: 'signal' }],
]

/** The deaths of `npm test`. */
export const OFTEN: readonly string[] = ['process.exit(0)', 'SIGKILL', 'an exhausted heap']

/** Tests the deaths that are chosen. */
export const deaths = (chosen: (how: string) => boolean): void => {
  it.each(DEATHS.filter(([how]) => chosen(how)))(
    'by %s loses that job with every detail; jobs behind it run once in the next worker',
    async (_, task, args, details) => {
      const pool = await startPool({ dispatch: 'fast', output: 'capture', execArgv: ['--max-old-space-size=24'] })
      const before = await pidOf(pool)
      const journal = new Journal()
      const culprit = pool.submit(task, args)
      const behind = Array.from({ length: 5 }, (_, index) => pool.submit('mark', [journal.path, index]))

      const error = await failure(culprit.result)
      expect(error).toBeInstanceOf(WorkerLostError)
      expect(error).toBeInstanceOf(PreforkError)
      expect(error).toMatchObject({ name: 'WorkerLostError', code: 'ERR_PREFORK_WORKER_LOST', accepted: true, ...details })
      expect((error as WorkerLostError).stderr).toContain('last line')
      expect(culprit).toMatchObject({ state: 'lost', accepted: true, attempt: 1 })
      expect(await culprit.began).toBe(true)

      expect(await Promise.all(behind.map((job) => job.result))).toEqual([0, 1, 2, 3, 4])
      expect(journal.lines).toEqual(['0', '1', '2', '3', '4'])
      expect(behind.map((job) => job.attempt)).toEqual([1, 1, 1, 1, 1])
      expect(await pidOf(pool)).not.toBe(before)
    },
  )
}
