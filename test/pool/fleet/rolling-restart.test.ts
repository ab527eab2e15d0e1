import { expect, it } from 'vitest'
import { RollingRestart } from '../../../src/pool/fleet/rolling-restart.js'
import type { PoolWorker } from '../../../src/pool/worker/worker.js'

const upWorker = (): PoolWorker => ({ isUp: true, spare: false, predecessor: undefined }) as unknown as PoolWorker

/** Three workers are replaced one after another, and the places are taken by others. */
const replaced = async (restart: RollingRestart, old: PoolWorker[]): Promise<void> => {
  for (const worker of old) {
    restart.up(upWorker())
    restart.gone(worker)
  }
}

it('ends when every worker wanted is up', async () => {
  const retired: PoolWorker[] = []
  const restart = new RollingRestart((worker) => retired.push(worker))
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
  // One that is wanted has died meanwhile, and its successor still starts.
  restart.settle(false, 4)
  await Promise.resolve()
  expect(over).toBe(false)
  restart.settle(true, 4)
  await done
})

it('ends where workers are recycled so fast that never all of them are up: when as many have come up as are wanted', async () => {
  const restart = new RollingRestart(() => {})
  const old = [upWorker(), upWorker(), upWorker()]
  const done = restart.begin(old)
  await replaced(restart, old)
  // A stand-by has no place yet.
  restart.up({ ...upWorker(), spare: true } as unknown as PoolWorker)
  restart.settle(false, 4)
  restart.up(upWorker())
  restart.settle(false, 4)
  await done
})
