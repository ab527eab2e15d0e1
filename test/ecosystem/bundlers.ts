import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'

/** A host and its tasks: errors keep their classes, and what is imported from `prefork/worker` knows the job. */
export const SOURCES = {
  'tasks.js': `import { PreforkError } from 'prefork'
import { currentJob } from 'prefork/worker'
export const add = (a, b) => [a + b, currentJob().name]
export const fail = () => { throw new PreforkError('ERR_OWN', 'alas') }
`,
  'main.js': `import { createPool, PreforkError, TaskNotFoundError } from 'prefork'
export const main = async (tasks) => {
  const pool = await createPool({ tasks, workers: 1 })
  const error = await pool.run('fail').catch((reason) => reason)
  const unknown = await pool.run('none').catch((reason) => reason)
  console.log(JSON.stringify([await pool.run('add', [1, 2]), error instanceof PreforkError, error.code, unknown instanceof TaskNotFoundError]))
  await pool.close()
}
`,
  'host.js': "import { main } from './main.js'\nmain(new URL('./tasks.js', import.meta.url))\n",
  'host-cjs.js': "import { main } from './main.js'\nmain(__dirname + '/tasks.cjs')\n",
}
export const PRINTED = '[[3,"add"],true,"ERR_OWN",true]'

export const runBundle = async (file: string) => {
  const { stdout, stderr } = await execa(process.execPath, [file], { cwd: dirname(file), reject: false, timeout: 50_000, stdin: 'ignore' })
  return { stdout, stderr }
}

/** The output of a bundler where nothing is installed. */
export const moved = (folder: string): string => {
  const place = mkdtempSync(join(tmpdir(), 'prefork-bundle-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  cpSync(folder, place, { recursive: true })
  return place
}
