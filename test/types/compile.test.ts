import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

it('what is typed right compiles, and what is not does not', () => {
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', here, '--noEmit', '--pretty', 'false'], { encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
}, 60_000)
