import { expect, it } from 'vitest'
import { readNodeOptions } from '../../src/node/options.js'
import { poolOptions } from '../../src/node/pool-options.js'

const optionsOf = (given: object) => poolOptions(readNodeOptions({ tasks: '/srv/tasks.js', ...given }))

it('a restart or a recycling drops no job, however long it takes', () => {
  expect(optionsOf({ maxJobsPerWorker: 100 })).toMatchObject({ drainTimeout: Number.POSITIVE_INFINITY, maxJobsPerWorker: 100 })
})

it('the number of workers is fixed, though the node scales', () => {
  expect(optionsOf({ minWorkers: 2, maxWorkers: 5 }).workers).toBe(2)
})

it('the workers have the niceness of the node', () => {
  expect([optionsOf({}).niceness, optionsOf({ niceness: 7 }).niceness]).toEqual([0, 7])
})

it('the workers are started, and share memory, as the node says', () => {
  expect(optionsOf({})).toMatchObject({ launcher: 'host', sharedMemory: undefined })
  expect(optionsOf({ launcher: 'process', sharedMemory: 0 })).toMatchObject({ launcher: 'process', sharedMemory: 0 })
})

it('tasks have as long to react to a cancellation as the node says', () => {
  expect([optionsOf({}).cancelGrace, optionsOf({ cancelGrace: 5_000 }).cancelGrace]).toEqual([1_000, 5_000])
})
