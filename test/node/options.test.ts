import { describe, expect, it } from 'vitest'
import { readNodeOptions } from '../../src/node/options.js'

const read = (options: object = {}) => readNodeOptions({ tasks: '/tasks.js', ...options })

describe('the options of a node', () => {
  it('have their defaults', () => {
    expect(read()).toMatchObject({
      minWorkers: 1,
      maxWorkers: 10,
      prefetchPerWorker: 10,
      concurrency: 1,
      scaleUpAfter: 250,
      scaleUpBatch: 2,
      keepAlive: 30_000,
      scaleDownBatch: 1,
      scaleCheckInterval: 1_000,
      cancelGrace: 1_000,
      shutdownGrace: 15_000,
      heartbeatInterval: 1_000,
      maxStall: undefined,
      taskHistory: 300,
      showArguments: true,
      maxLosses: 3,
      maxAttempts: 3,
      backoff: { kind: 'exponential', delay: 1_000, maxDelay: 60_000, jitter: 0.2 },
      unknownTask: 'retry',
      unknownTaskTimeout: 600_000,
      maxBodySize: 64 * 1024 * 1024,
    })
    expect(read().name).toMatch(/-\d+-[a-z]{4}$/)
    expect(read({ maxWorkers: undefined, prefetchPerWorker: 4 })).toMatchObject({ maxWorkers: 10, concurrency: 1 })
    expect([read({ concurrency: 4 }).prefetchPerWorker, read({ concurrency: 40 }).prefetchPerWorker]).toEqual([10, 40])
    expect(read({ imports: ['./boot.js', 'tsx'], tasks: undefined, roots: '/' }).imports).toEqual([expect.stringMatching(/^file:.*boot\.js$/), 'tsx'])
  })

  it.each([
    [{ minWorker: 2 }, /Unknown option 'minWorker' of the node; did you mean 'minWorkers'/],
    [{ tasks: undefined }, /Option 'tasks' is missing/],
    [{ tasks: 5 }, /Option 'tasks' must be/],
    [{ minWorkers: 0 }, /Option 'minWorkers' must be a whole number from 1/],
    [{ minWorkers: 5, maxWorkers: 4 }, /Option 'maxWorkers' must be at least minWorkers, 5/],
    [{ concurrency: 11, prefetchPerWorker: 10 }, /Option 'concurrency' must be at most prefetchPerWorker, 10/],
    [{ scaleUpAfter: -1 }, /Option 'scaleUpAfter' must be a number of milliseconds/],
    [{ keepAlive: 0 }, /Option 'keepAlive' must be a number of milliseconds/],
    [{ cancelGrace: 0 }, /Option 'cancelGrace' must be a number of milliseconds/],
    [{ shutdownGrace: -1 }, /Option 'shutdownGrace' must be a number of milliseconds/],
    [{ scaleCheckInterval: 0 }, /Option 'scaleCheckInterval' must be/],
    [{ softTimeLimit: 10, timeLimit: 5 }, /Option 'timeLimit' must be at least the softTimeLimit of 10 ms/],
    [{ imports: ['./boot.js', 5] }, /Option 'imports\[1\]' must be a path, a file: URL: .* it was given 5\./],
    [{ roots: '/no/such/folder' }, /Option 'roots' must be folders that exist/],
    [{ name: 'a b' }, /Option 'name' must be/],
    [{ backoff: { kind: 'linear', delay: 1 } }, /Option 'backoff.kind' must be 'fixed' or 'exponential'/],
    [{ backoff: { kind: 'fixed', delay: 1, jiter: 1 } }, /Unknown option 'jiter' of backoff; did you mean 'jitter'/],
    [{ backoff: { kind: 'fixed', delay: 1, jitter: 2 } }, /Option 'backoff.jitter' must be a share from 0 to 1/],
    [{ taskDefaults: { a: { rateLimit: 'fast' } } }, /Option 'taskDefaults.a.rateLimit' must be starts per second/],
    [{ taskDefaults: { a: { maxAttempt: 1 } } }, /did you mean 'maxAttempts'/],
    [{ unknownTask: 'drop' }, /Option 'unknownTask' must be 'retry' or 'dead-letter'/],
    [{ unknownTaskTimeout: 0 }, /Option 'unknownTaskTimeout' must be a number of milliseconds/],
    [{ logger: {} }, /Option 'logger' must be a pino logger/],
    [{ niceness: -1 }, /Option 'niceness' must be a whole number from 0 to 19/],
    [{ maxLosses: 0 }, /Option 'maxLosses' must be/],
  ])('%j is refused', (options, message) => {
    expect(() => read(options)).toThrow(message)
  })
})
