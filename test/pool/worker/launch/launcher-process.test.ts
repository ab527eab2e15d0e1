import { expect, onTestFinished, test } from 'vitest'
import { PoolMemory } from '../../../../src/pool/worker/launch/file-memory.js'
import type { ProcessExit } from '../../../../src/pool/worker/launch/launcher.js'
import { launcherProcess } from '../../../../src/pool/worker/launch/launcher-process.js'
import { launcherSystem } from '../../../../src/pool/worker/launch/spawn-launcher.js'
import type { SpawnOptions } from '../../../../src/pool/worker/launch/spawn-worker.js'

test('a launcher process that cannot be started is a start of the worker that failed', async () => {
  // Longer than the kernel allows: spawn() throws.
  process.env.PREFORK_TEST_LONG = 'x'.repeat(300_000)
  onTestFinished(() => {
    delete process.env.PREFORK_TEST_LONG
  })
  const options = { config: { killTree: true, output: 'ignore' } } as SpawnOptions
  const launcher = launcherProcess(options.config, launcherSystem(options, new PoolMemory(0, 1), '/nowhere.cjs'))
  const worker = launcher(1)
  const exit = await new Promise<ProcessExit>((resolve) => worker.onExit(resolve))
  expect(exit).toMatchObject({ exitCode: null, signal: null, error: { code: 'E2BIG' } })
  expect(worker.pid).toBeUndefined()
  await launcher.close?.()
})
