/** Messages of one line, with the cause first; what a worker printed is in `error.stderr`. */
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { createPool, type MemoryLimitError, type WorkerLostError, type WorkerStartError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { fixture, optionsOf, startPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

it('an exhausted heap is named, with its limit and where it comes from', async () => {
  const pool = await startPool({ execArgv: ['--max-old-space-size=32'] })
  const error = (await failure(pool.run('exhaustHeap'))) as WorkerLostError
  expect(error.message).toMatch(/^The job 'exhaustHeap' was lost: worker 1 \(pid \d+\) ran out of JavaScript heap \(--max-old-space-size, 32 MB\)\.$/)
  expect(error.stderr).toContain('heap out of memory')

  const other = await startPool({ env: { ...process.env, NODE_OPTIONS: '--max_old_space_size=24' } })
  expect(await failure(other.run('exhaustHeap'))).toMatchObject({ message: expect.stringContaining('(--max-old-space-size, 24 MB).') })
})

it('the message of a lost job has one line, whatever its worker printed', async () => {
  const pool = await startPool()
  const error = (await failure(pool.run('abort', ['first line\nlast line']))) as WorkerLostError
  expect(error.message).toMatch(/^The job 'abort' was lost: worker 1 \(pid \d+\) was killed by SIGABRT\.$/)
  expect(error.stderr).toContain('last line')
})

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

it.each([
  ['prints and exits', "console.error('one\\ntwo'); process.exit(3)", /exited with code 3\. It was to load .*tasks\.mjs\.$/, 'one\ntwo'],
  ['ends the process', 'process.exit(0)', /exited with code 0\. It was to load .*tasks\.mjs, where something calls process\.exit\(\)\.$/, ''],
  ['throws an error of several lines', "throw new Error('one\\ntwo')", /tasks\.mjs: one$/, ''],
])('the message of a start that failed has one line where a module %s', async (_, text, message, stderr) => {
  const tasks = join(folder(), 'tasks.mjs')
  writeFileSync(tasks, text)
  const error = (await failure(createPool(optionsOf({ tasks })))) as WorkerStartError
  expect(error.message).toMatch(message)
  expect(error.message).not.toContain('\n')
  expect(error.stderr).toBe(stderr)
})

it('sizes are for people', async () => {
  const pool = await startPool({
    maxMessageSize: 3 * 1024 * 1024,
    maxMemoryPerWorker: 100 * 1024 * 1024,
    hardMemoryLimit: 150 * 1024 * 1024,
    heartbeatInterval: 50,
  })
  const over = /take 4 MB, more than maxMessageSize \(3 MB\)\.$/
  expect(await failure(pool.run('echo', [Buffer.alloc(4 * 1024 * 1024)]))).toMatchObject({ message: expect.stringMatching(over) })
  const error = (await failure(pool.run('leakAndHang', [400_000_000]))) as MemoryLimitError
  // In bytes where both would be the same number of MB: it was noticed at once.
  expect(error.message).toMatch(
    /^The worker's resident memory is (\d+ MB, more than hardMemoryLimit \(150 MB\)|157,\d{3},\d{3} bytes, more than hardMemoryLimit \(157,286,400 bytes\))\.$/,
  )
})

describe.runIf(process.allowedNodeEnvironmentFlags.has('--permission') && !process.version.startsWith('v22'))('under --permission', () => {
  const main = `import { createPool } from 'prefork'
const pool = await createPool({ tasks: process.argv[2], workers: 1 }).catch((error) => error)
console.log(pool.message ?? 'up')
`
  it.each([
    ['--allow-child-process', ['--allow-fs-read=*'], /Node runs with --permission, and without --allow-child-process\.$/],
    ['--allow-worker', ['--allow-fs-read=*', '--allow-child-process'], /and without --allow-worker \(which the watchdog needs/],
  ])('the flag %s that is missing is named', async (_, flags, message) => {
    const { folder: project, remove } = makeProject()
    onTestFinished(remove)
    writeFileSync(join(project, 'main.js'), main)
    const args = ['--permission', ...flags, 'main.js', fixture('tasks.js').href]
    const { stdout } = await execa(process.execPath, args, { cwd: project, reject: false, timeout: 30_000 })
    expect(stdout).toMatch(message)
  })
})

/** Undefined where no cgroup with a limit can be made. */
const limitedCgroup = (): string | undefined => {
  const path = `/sys/fs/cgroup/memory/prefork-test-${process.pid}`
  try {
    mkdirSync(path)
    writeFileSync(`${path}/memory.limit_in_bytes`, String(200 * 1024 * 1024))
    return path
  } catch {
    return undefined
  }
}

it('a kill of the kernel for memory is named where a cgroup with a limit can be made', async ({ skip }) => {
  const cgroup = limitedCgroup()
  if (cgroup === undefined) return skip('no cgroup can be made')
  onTestFinished(() => rmdirSync(cgroup))
  const { folder: project, remove } = makeProject()
  onTestFinished(remove)
  writeFileSync(join(project, 'tasks.js'), 'export const grow = () => { const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1)) }\n')
  writeFileSync(
    join(project, 'main.js'),
    `import { createPool } from 'prefork'
const pool = await createPool({ tasks: new URL('./tasks.js', import.meta.url), workers: 1 })
console.log((await pool.run('grow').catch((error) => error)).message)
await pool.close()
`,
  )
  const script = `echo $$ > ${cgroup}/cgroup.procs && exec "${process.execPath}" main.js`
  const { stdout } = await execa('sh', ['-c', script], { cwd: project, reject: false, timeout: 50_000 })
  expect(stdout).toMatch(/^The job 'grow' was lost: worker 1 \(pid \d+\) was killed by the kernel for memory \(SIGKILL\)\.$/)
})
