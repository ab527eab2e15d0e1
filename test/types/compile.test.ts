import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

it('valid types compile, invalid ones do not', async () => {
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const { exitCode, stdout } = await execa(process.execPath, [tsc, '-p', here, '--noEmit', '--pretty', 'false'], { reject: false })
  expect(stdout).toBe('')
  expect(exitCode).toBe(0)
}, 60_000)
