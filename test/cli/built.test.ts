import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { CONTROL_COMMANDS } from '../../src/cli/commands/control-commands.js'

const PREFORK = fileURLToPath(new URL('../../dist/cli/prefork.js', import.meta.url))

// Run by its first line, as a shell does.
const run = async (typed: string[], env: Record<string, string> = {}) => {
  const options = { env: { PATH: process.env.PATH, ...env }, extendEnv: false, reject: false, stripFinalNewline: false } as const
  const { exitCode, stdout, stderr } = await execa(PREFORK, typed, options)
  return { exitCode, stdout, stderr }
}

test.each([
  [['--help'], /Usage: prefork/],
  [['work', '--help'], /MIN_WORKERS.*\n.*SIGTSTP/s],
  [['publish', '--help'], /Usage: prefork publish \[options\] <task> \[args\]/],
  [['top', '--help'], /Usage: prefork top/],
  [['control', '--help'], new RegExp(Object.keys(CONTROL_COMMANDS).join('.*'), 's')],
  [['control', 'revoke', '--help'], /--terminate/],
  [['purge', '--help'], /--yes/],
  [['dlq', 'list', '--help'], /--limit/],
  [['dlq', 'retry', '--help'], /\[ids\.\.\.\]/],
])('%j', async (typed, text) => {
  const { exitCode, stdout, stderr } = await run(typed)
  expect(stdout).toMatch(text)
  expect([exitCode, stderr]).toEqual([0, ''])
})

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
