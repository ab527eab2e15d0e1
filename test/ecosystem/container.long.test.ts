/** A host as process 1 of a container whose root is read-only and whose /dev/shm has 64 MB. `unshare` makes what Docker makes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa, execaSync } from 'execa'
import { expect, it, onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { childrenOf, until } from '../fixtures/support.js'

const UNSHARE = ['unshare', '--pid', '--fork', '--mount', '--mount-proc', '--kill-child', 'sh', '-c']
/** Of all that is mounted, only the root is a disk in a container; a folder of temporary files may be mounted beside it. */
const MOUNTS = 'mount -o remount,bind,ro / && mount -t tmpfs -o size=64m tmpfs /dev/shm'

const refusal = (() => {
  const { failed, stderr } = execaSync(UNSHARE[0]!, [...UNSHARE.slice(1), MOUNTS], { reject: false })
  return failed ? stderr || 'unshare failed' : undefined
})()
if (refusal !== undefined) console.warn(`SKIPPED: a host as process 1 of a container, because namespaces cannot be made here: ${refusal}`)

const TASKS = `import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
export const size = (buffer) => buffer.length
export const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms, 'rested'))
export const write = () => appendFileSync(new URL('./written', import.meta.url), 'x')
export const die = () => {
  spawn('sleep', ['600'], { stdio: 'ignore' })
  process.kill(process.pid, 'SIGKILL')
}
`
const MAIN = `import { readdirSync, readFileSync, statfsSync } from 'node:fs'
import { createPool } from 'prefork'
const pool = await createPool({ tasks: new URL('./tasks.js', import.meta.url), workers: 2 })
const shm = statfsSync('/dev/shm')
const told = [process.pid, shm.bsize * shm.blocks]
told.push((await pool.run('write').catch((error) => error)).code)
told.push(await Promise.all(Array.from({ length: 4 }, () => pool.run('size', [Buffer.alloc(100 * 1024 * 1024)]))))
told.push((await pool.run('die').catch((error) => error)).signal)
const job = pool.run('nap', [500])
process.on('SIGTERM', async () => {
  console.log(JSON.stringify([await job, await pool.close()]))
})
const states = () => readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => {
  try {
    return /\\) (\\S)/.exec(readFileSync('/proc/' + pid + '/stat', 'utf8'))[1] + ' ' + readFileSync('/proc/' + pid + '/comm', 'utf8').trim()
  } catch {
    return ''
  }
})
const sleeps = () => states().filter((state) => / sleep$/.test(state))
while (sleeps().some((state) => !state.startsWith('Z'))) await pool.run('nap', [10])
told.push(sleeps())
console.log(JSON.stringify(told))
`

it.skipIf(refusal !== undefined)('answers, loses a worker and closes', { timeout: 150_000 }, async () => {
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  writeFileSync(join(folder, 'tasks.js'), TASKS)
  writeFileSync(join(folder, 'main.js'), MAIN)
  const command = `${MOUNTS} && exec ${process.execPath} ${join(folder, 'main.js')}`
  const container = execa(UNSHARE[0]!, [...UNSHARE.slice(1), command], { all: true, reject: false, stdin: 'ignore', killSignal: 'SIGKILL' })
  onTestFinished(async () => {
    container.kill()
    await container
  })
  let output = ''
  container.all.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until('it has told all', () => output.includes('\n') || container.exitCode !== null, 120_000)
  const MB = 1024 * 1024
  // The child of the worker that died has ended with it. Nobody reaps it: that is for an init.
  expect(JSON.parse(output.split('\n')[0]!)).toEqual([1, 64 * MB, 'EROFS', Array(4).fill(100 * MB), 'SIGKILL', ['Z sleep']])
  const [host] = childrenOf(container.pid!)
  process.kill(host!.pid, 'SIGTERM')
  const { exitCode } = await container
  expect([exitCode, output.split('\n')[1]]).toEqual([0, '["rested",null]'])
})
