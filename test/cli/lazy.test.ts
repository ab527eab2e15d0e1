/** A command loads the library of its own broker, and `import 'prefork'` that of none. */
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { PREFORK } from './processes.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Prints each module that is loaded. */
const HOOKS = `import { writeSync } from 'node:fs'
export const load = (url, context, next) => { writeSync(2, 'loaded ' + url + '\\n'); return next(url, context) }`
const REGISTER = `import { register } from 'node:module'; register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)}))`

/** The libraries of brokers that a program loads. */
const loadedBy = async (...typed: string[]): Promise<string[]> => {
  const args = ['--no-warnings', '--import', `data:text/javascript,${encodeURIComponent(REGISTER)}`, ...typed]
  const { stderr } = await execa(process.execPath, args, { cwd: root, extendEnv: false, env: { PATH: process.env.PATH }, reject: false })
  expect(stderr).toContain('loaded ')
  return [...new Set([...stderr.matchAll(/^loaded .*\/dist\/(amqp|faktory|queue)\//gm)].map(([, name]) => name!))].sort()
}

test.each([
  ['amqp://127.0.0.1:1/', ['amqp']],
  ['tcp://127.0.0.1:1', ['faktory']],
  // That there is no such file is known before.
  ['sqlite:./no-such-file.db', []],
])('purge at %s', async (broker, wanted) => {
  expect(await loadedBy(PREFORK, 'purge', '--yes', '--broker', broker)).toEqual(wanted)
})

test('the help, and the pool', async () => {
  expect(await loadedBy(PREFORK, 'work', '--help')).toEqual([])
  expect(await loadedBy('--input-type=module', '--eval', "await import('prefork')")).toEqual([])
})
