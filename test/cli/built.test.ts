import { expect, test } from 'vitest'
import { CONTROL_COMMANDS } from '../../src/cli/commands/control-commands.js'
import { helps, PREFORK, run } from './built.js'

// The others: built.long.test.ts.
helps([
  [['--help'], /Usage: prefork/],
  [['control', '--help'], new RegExp(Object.keys(CONTROL_COMMANDS).join('.*'), 's')],
])

test('the version is that of the package', async () => {
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('an invalid flag or variable is exit code 2 and one line', async () => {
  expect(await run(['work', '--tasks', PREFORK, '--workers', 'x'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: "prefork: --workers must be a whole number from 1 to 10000; it was given 'x'.\n",
  })
  expect(await run(['work', '--tasks', PREFORK], { MAX_LOSSES: '-1' })).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: "prefork: MAX_LOSSES must be a whole number from 1 to 1000; it was given '-1'.\n",
  })
})
