import { expect, it } from 'vitest'
import type { Retirement } from '../../../src/pool/fleet/retirement.js'
import { RollingRestart } from '../../../src/pool/fleet/rolling-restart.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'

const upWorker = (): PoolWorker => ({ isUp: true, spare: false, replace: () => {} }) as unknown as PoolWorker

/** A retirement that lists the workers that it was asked to retire. */
const retirementTo = (retired: PoolWorker[]): Retirement => ({ retire: (worker: PoolWorker) => retired.push(worker) }) as unknown as Retirement

/** Replaces the workers one after another. */
const replaced = async (restart: RollingRestart, old: PoolWorker[]): Promise<void> => {
  for (const worker of old) {
    restart.up(upWorker())
    restart.gone(worker)
  }
}

it('ends when every worker wanted is up', async () => {
  const retired: PoolWorker[] = []
  const restart = new RollingRestart(retirementTo(retired))
  const old = [upWorker(), upWorker(), upWorker()]
  let over = false
  const done = restart.begin(old).then(() => {
    over = true
  })
  restart.settle(true, 4)
  await Promise.resolve()
  expect(over).toBe(false)
  await replaced(restart, old)
  expect(retired).toEqual(old)
  // One of the new ones has died, and its successor still starts.
  restart.settle(false, 4)
  await Promise.resolve()
  expect(over).toBe(false)
  restart.settle(true, 4)
  await done
})

it('ends when as many have come up as are wanted, where workers are recycled so fast that never all of them are up', async () => {
  const restart = new RollingRestart(retirementTo([]))
  const old = [upWorker(), upWorker(), upWorker()]
  const done = restart.begin(old)
  await replaced(restart, old)
  // A spare worker does not count.
  restart.up({ ...upWorker(), spare: true } as unknown as PoolWorker)
  restart.settle(false, 4)
  restart.up(upWorker())
  restart.settle(false, 4)
  await done
})
