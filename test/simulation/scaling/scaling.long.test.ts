import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, it } from 'vitest'

const simulate = fileURLToPath(new URL('../../../scripts/simulate.js', import.meta.url))
const RUNS = 1_000

it(`nodes keep what they promise in ${RUNS} random farms`, { timeout: 900_000 }, async () => {
  const seed = process.env.PREFORK_SEED ?? String(Date.now() & 0x3fff_ffff)
  const { exitCode, stdout, stderr } = await execa(process.execPath, [simulate, '--scaling', '--runs', String(RUNS), '--seed', seed], { reject: false })
  expect(stderr).toBe('')
  expect(exitCode, stdout.slice(-10_000)).toBe(0)
  expect(stdout).toContain(`${RUNS} runs, 0 with faults`)
})
