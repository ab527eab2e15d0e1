/** @import { PoolEntry } from '../types.js' */

const PREFORK = { adapter: 'prefork.js', imports: '../dist/index.js', recycles: true, replaces: true, binary: true }

/**
 * The pools in the order of the tables. All have a fixed number of workers, which are up before a measurement begins, and the task
 * module `native-bench/tasks.js`.
 * @type {Record<string, PoolEntry>}
 */
export const POOLS = {
  prefork: { ...PREFORK, title: 'prefork', kind: 'prefork', flavour: 'adaptive', configuration: 'its defaults: adaptive dispatch, watchdog on' },
  'prefork-fast': { ...PREFORK, title: 'prefork, fast', kind: 'prefork', flavour: 'fast', configuration: "`dispatch: 'fast'`" },
  'prefork-fair': { ...PREFORK, title: 'prefork, fair', kind: 'prefork', flavour: 'fair', configuration: "`dispatch: 'fair'`" },
  piscina: {
    title: 'piscina, threads',
    kind: 'threads',
    adapter: 'piscina.js',
    imports: 'piscina',
    replaces: true,
    binary: true,
    configuration:
      "`atomics: 'sync'` (its default, the fastest); `concurrentTasksPerWorker` 128, so that tasks lie ready in the worker, and 1 where jobs differ in length",
  },
  'tinypool-threads': {
    title: 'tinypool, threads',
    kind: 'threads',
    adapter: 'tinypool.js',
    flavour: 'worker_threads',
    imports: 'tinypool',
    replaces: true,
    binary: true,
    configuration: 'atomics on (its default); `concurrentTasksPerWorker` 8 (more was slower), and 1 where jobs differ in length',
  },
  'tinypool-processes': {
    title: 'tinypool, processes',
    kind: 'processes',
    adapter: 'tinypool.js',
    flavour: 'child_process',
    imports: 'tinypool',
    replaces: true,
    binary: true,
    configuration:
      "`serialization: 'json'` (its default, the faster), and 'advanced' where Buffers are sent; `concurrentTasksPerWorker` 128, and 1 where jobs differ in length",
  },
  'workerpool-threads': {
    title: 'workerpool, threads',
    kind: 'threads',
    adapter: 'workerpool.js',
    flavour: 'thread',
    imports: 'workerpool',
    replaces: true,
    binary: true,
    configuration: "a dedicated worker script, `workerType: 'thread'`",
  },
  'workerpool-processes': {
    title: 'workerpool, processes',
    kind: 'processes',
    adapter: 'workerpool.js',
    flavour: 'process',
    imports: 'workerpool',
    replaces: true,
    binary: true,
    configuration: "a dedicated worker script, `workerType: 'process'`; JSON (its default), and `forkOpts.serialization: 'advanced'` where Buffers are sent",
  },
  poolifier: {
    title: 'poolifier, threads',
    kind: 'threads',
    adapter: 'poolifier.js',
    imports: 'poolifier',
    replaces: true,
    binary: true,
    configuration:
      'FixedThreadPool, events off, no tasks queue (its default, the fastest: everything is written ahead); with its tasks queue (one at a time, stealing on) where jobs differ in length',
  },
  'jest-worker-threads': {
    title: 'jest-worker, threads',
    kind: 'threads',
    adapter: 'jest-worker.js',
    flavour: 'threads',
    imports: 'jest-worker',
    replaces: true,
    binary: true,
    configuration: '`enableWorkerThreads`, exposed methods named, started before the first call',
  },
  'jest-worker-processes': {
    title: 'jest-worker, processes',
    kind: 'processes',
    adapter: 'jest-worker.js',
    flavour: 'processes',
    imports: 'jest-worker',
    replaces: true,
    binary: true,
    configuration: "exposed methods named, started before the first call; structured clone ('advanced') is its default",
  },
  'fork-json': {
    title: 'bare fork, json',
    kind: 'bare',
    adapter: 'fork.js',
    flavour: 'json',
    configuration: '`child_process.fork` and a Map of promises: no queue, no replacement; each message goes to the process with the fewest',
  },
  'fork-advanced': {
    title: 'bare fork, advanced',
    kind: 'bare',
    adapter: 'fork.js',
    flavour: 'advanced',
    binary: true,
    configuration: "the same with `serialization: 'advanced'`",
  },
  'node-floor': {
    title: 'floor in Node',
    kind: 'floor',
    configuration: 'the same frames and one write for each acceptance; no promise, no codec (bytes), no queue: `native-bench/floor/node-host.js`',
  },
  'c-floor': {
    title: 'floor in C',
    kind: 'floor',
    configuration: 'the same in C: fork, socketpair, epoll: `native-bench/floor/`',
  },
}

export const PEER_NAMES = Object.keys(POOLS)
