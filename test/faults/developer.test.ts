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

it('node --watch restarts the host when a task module changes', async () => {
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  writeFileSync(join(folder, 'main.js'), MAIN)
  writeFileSync(join(folder, 'tasks.js'), tasks(1))
  const watcher = spawn(process.execPath, ['--watch', 'main.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    watcher.kill('SIGTERM')
    await until('the watcher is gone', () => watcher.exitCode !== null || watcher.signalCode !== null)
  })
  let output = ''
  watcher.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until('it has started', () => output.includes('answer 1'))
  // Written again and again: the watcher may begin to watch the file only now.
  let written = 1
  await until('it has started again', async () => {
    writeFileSync(join(folder, 'tasks.js'), tasks(++written))
    await new Promise((resolve) => setTimeout(resolve, 500))
    return /answer [2-9]/.test(output)
  })
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
