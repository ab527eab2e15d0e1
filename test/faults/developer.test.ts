/** The loop of a developer: `node --watch`, and requests whose clients have gone. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { clientSignal } from 'prefork'
import { expect, it, onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { sharedPool } from '../fixtures/pools.js'
import { failure, until } from '../fixtures/support.js'

const MAIN = `import { createPool } from 'prefork'
const pool = await createPool({ tasks: new URL('./tasks.js', import.meta.url), workers: 1 })
console.log('answer', await pool.run('answer'))
setInterval(() => {}, 1_000)
`
const tasks = (answer: number): string => `export const answer = () => ${answer}\n`

/** `node --watch main.js` with these files; the watcher ends with the test. */
const watched = (files: Readonly<Record<string, string>>) => {
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const watcher = spawn(process.execPath, ['--watch', 'main.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(async () => {
    watcher.kill('SIGTERM')
    await until('the watcher is gone', () => watcher.exitCode !== null || watcher.signalCode !== null)
  })
  let output = ''
  for (const stream of [watcher.stdout, watcher.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const prints = (what: string) => until(`it prints ${what}: ${output}`, () => output.includes(what))
  /** Written again and again: the watcher may begin to watch the file only now. */
  const edit = (name: string, text: string, what: string) =>
    until(`it prints ${what} after ${name} has changed: ${output}`, async () => {
      writeFileSync(join(folder, name), text)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      return output.includes(what)
    })
  return { prints, edit }
}

it('node --watch restarts the host when a task module changes', async () => {
  const { prints, edit } = watched({ 'main.js': MAIN, 'tasks.js': tasks(1) })
  await prints('answer 1')
  await edit('tasks.js', tasks(2), 'answer 2')
})

const IMPORTING = `import { createRequire } from 'node:module'
import { value } from './value.js'
const require = createRequire(import.meta.url)
export const answer = async () => [value, (await import('./late.js')).late, require('./common.cjs')].join()
`

it.each(['', ", env: { PATH: '/bin' }"])('node --watch restarts the host when a module changes that a task module imports%s', async (options) => {
  const main = MAIN.replace(', workers: 1', `, workers: 1${options}`)
  const files = { 'value.js': 'export const value = ', 'late.js': 'export const late = ', 'common.cjs': 'module.exports = ' }
  const { prints, edit } = watched({
    'main.js': main,
    'tasks.js': IMPORTING,
    ...Object.fromEntries(Object.entries(files).map(([name, text]) => [name, `${text}1\n`])),
  })
  await prints('answer 1,1,1')
  await edit('value.js', `${files['value.js']}2\n`, 'answer 2,1,1')
  await edit('late.js', `${files['late.js']}2\n`, 'answer 2,2,1')
  await edit('common.cjs', `${files['common.cjs']}2\n`, 'answer 2,2,2')
})

it('node --watch restarts a host that failed when an import of its task module is mended', async () => {
  const { prints, edit } = watched({
    'main.js': MAIN,
    'tasks.js': IMPORTING,
    'late.js': 'export const late = 1\n',
    'common.cjs': 'module.exports = 1\n',
    'value.js': "throw new Error('not yet')\n",
  })
  await prints('WorkerStartError')
  await edit('value.js', 'export const value = 1\n', 'answer 1,1,1')
})

const shared = sharedPool({ tasks: new URL('../fixtures/tasks.js', import.meta.url) })

/** A server that gives each response to `handle`; returns its address. */
const serve = async (handle: (response: ServerResponse) => void): Promise<string> => {
  const server = createServer((_, response) => handle(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('the signal of a response cancels the job of a client that has gone, and of no other', async () => {
  const outcomes: Promise<unknown>[] = []
  const url = await serve((response) => {
    outcomes.push(failure(shared.pool.run('sleep', [60_000], { signal: clientSignal(response) })))
  })
  const request = get(url).on('error', () => {})
  await until('the job was submitted', () => outcomes.length === 1)
  request.destroy()
  expect(await outcomes[0]).toMatchObject({ name: 'AbortError', message: 'The client has gone before the response was sent.' })

  const signals: AbortSignal[] = []
  const other = await serve((response) => {
    signals.push(clientSignal(response))
    response.end('sent')
  })
  expect(await (await fetch(other)).text()).toBe('sent')
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})

it('the signal of a response that is closed already is aborted, and a wrong argument is told', async () => {
  const closed: boolean[] = []
  const url = await serve((response) => {
    response.on('close', () => closed.push(clientSignal(response).aborted))
    response.destroy()
  })
  get(url).on('error', () => {})
  await until('it is closed', () => closed.length === 1)
  expect(closed).toEqual([true])
  expect(() => clientSignal({} as never)).toThrow('clientSignal wants the response')
})
