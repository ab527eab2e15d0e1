import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'

export const PREFORK = fileURLToPath(new URL('../../dist/cli/prefork.js', import.meta.url))

// Run by its first line, as a shell does.
export const run = async (typed: string[], env: Record<string, string> = {}) => {
  const options = { env: { PATH: process.env.PATH, ...env }, extendEnv: false, reject: false, stripFinalNewline: false } as const
  const { exitCode, stdout, stderr } = await execa(PREFORK, typed, options)
  return { exitCode, stdout, stderr }
}

/** Tests the help of these commands. */
export const helps = (commands: readonly (readonly [typed: string[], text: RegExp])[]): void => {
  test.each(commands)('%j', async (typed, text) => {
    const { exitCode, stdout, stderr } = await run(typed)
    expect(stdout).toMatch(text)
    expect([exitCode, stderr]).toEqual([0, ''])
  })
}
