import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

it('what is typed right compiles, and what is not does not', () => {
  const { status, stdout, stderr } = spawnSync('npx', ['--no-install', 'tsc', '-p', here, '--noEmit', '--pretty', 'false'], { cwd: here, encoding: 'utf8' })
  expect(`${stdout}${stderr}`).toBe('')
  expect(status).toBe(0)
}, 60_000)
