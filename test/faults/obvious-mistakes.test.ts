/** Mistakes of the first hour, and what is said about them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createPool, type PoolOptions, type WorkerStartError } from 'prefork'
import { createWorker } from 'prefork/queue'
import { describe, expect, it, onTestFinished } from 'vitest'
import { optionsOf, startPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

const refused = async (options: object): Promise<Error> => (await failure(createPool({ ...optionsOf(), ...options } as PoolOptions))) as Error

/** A module in a folder of its own; returns its path. */
const moduleOf = (text: string, name = 'module.mjs'): string => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

describe('options', () => {
  it.each([
    [{ timeout: 1_000 }, "Unknown option 'timeout' of createPool; here it is 'timeLimit' (ms)."],
    [{ retries: 3 }, "Unknown option 'retries' of createPool; here it is 'retryLost' of a call"],
    [{ maxThreads: 3 }, "Unknown option 'maxThreads' of createPool; here it is 'workers': a number, or { min, max }."],
    [{ minThreads: 3 }, "Unknown option 'minThreads' of createPool; here it is 'workers': a number, or { min, max }."],
    [{ idleTimeout: 3 }, "Unknown option 'idleTimeout' of createPool; here it is 'keepAlive' (ms)."],
    [{ size: 3 }, "Unknown option 'size' of createPool; here it is 'workers': a number, or { min, max }."],
    [{ worker: 3 }, "Unknown option 'worker' of createPool; did you mean 'workers'?"],
  ])('of other pools are answered with their names here: %o', async (options, message) => {
    expect((await refused(options)).message).toContain(message)
  })

  it('of a call and of a node, too', async () => {
    const pool = await startPool()
    expect(await failure(pool.run('echo', [1], { timeout: 1 } as never))).toMatchObject({ message: expect.stringContaining("here it is 'timeLimit' (ms).") })
    expect(await failure(pool.run('echo', [1], { retries: 1 } as never))).toMatchObject({
      message: expect.stringContaining("here it is 'retryLost', for jobs"),
    })
    const node = { store: 'memory:mistakes', tasks: optionsOf().tasks }
    await expect(createWorker({ ...node, maxThreads: 2 } as never)).rejects.toThrow("here it is 'maxWorkers'.")
    await expect(createWorker({ ...node, retries: 2 } as never)).rejects.toThrow("here it is 'maxAttempts'.")
    await expect(createWorker({ ...node, maxMemoryPerWorker: 300 })).rejects.toThrow('did you mean 300 * 1024 * 1024?')
  })

  it.each([
    ['maxMemoryPerWorker', 500, 'it was given 500; did you mean 500 * 1024 * 1024?'],
    ['maxMemoryPerWorker', 500_000, 'it was given 500000; did you mean 500000 * 1024?'],
    ['hardMemoryLimit', 750, 'it was given 750; did you mean 750 * 1024 * 1024?'],
    ['maxMemoryPerWorker', 20_000_000, 'it was given 20000000.'],
  ])('a limit of memory that no worker could keep is refused: %s, %i', async (name, value, text) => {
    const { message } = await refused({ [name]: value })
    expect(message).toBe(`Option '${name}' is in bytes, and a worker that does nothing takes more than 32 MB; ${text}`)
  })
})

describe('a task module', () => {
  it.each([
    ['of values', 'export const answer = 42\n'],
    ['that is empty', ''],
    ['whose functions are only in its default export', 'export default { add: (a, b) => a + b }\n'],
  ])('%s is refused, as it exports no function', async (_, text) => {
    const tasks = moduleOf(text)
    const error = (await refused({ tasks })) as WorkerStartError
    expect(error.message).toContain(`${tasks}: No function is exported.`)
    expect(error.cause).toMatchObject({ code: 'ERR_PREFORK_NO_TASKS' })
  })

  it('without functions may stand beside one that has some', async () => {
    const pool = await startPool({ tasks: [moduleOf('globalThis.ready = true\n'), moduleOf('export const ready = () => globalThis.ready\n')] })
    expect(await pool.run('ready')).toBe(true)
  })

  it('that does not exist is told with the folder that its path is relative to', async () => {
    // No process is started for it.
    const { message } = await refused({ tasks: './no-such-tasks.js', execArgv: [] })
    expect(message).toBe(
      `No worker can be started: ${process.cwd()}/no-such-tasks.js: there is no such file; './no-such-tasks.js' is relative to the working directory. ` +
        "For a path beside the calling module, pass new URL('./no-such-tasks.js', import.meta.url).",
    )
    const absent = join(tmpdir(), 'no-such-tasks.js')
    expect((await refused({ tasks: absent })).message).toMatch(/no-such-tasks\.js: there is no such file\.$/)
    const loaded = { tasks: moduleOf('', 'none.js').replace('none.js', 'other.js'), execArgv: ['--import', 'data:text/javascript,'] }
    expect((await refused(loaded)).message).toMatch(/^No worker could be started \(\d starts failed\): .*other\.js: there is no such file\.$/)
    const importer = moduleOf("import './no-such-module.js'\n")
    expect((await refused({ tasks: importer })).message).toContain("Cannot find module '")
  })

  it('that is a folder is told so, without a start', async () => {
    const { message } = await refused({ tasks: tmpdir(), execArgv: [] })
    expect(message).toBe(`No worker can be started: ${tmpdir()}: it is a folder. Name the module in it, such as index.js.`)
  })

  it.runIf(process.version.startsWith('v20'))('in TypeScript that Node cannot load is answered with the loader that it needs', async () => {
    const { message } = await refused({ tasks: moduleOf('export const one = (): number => 1\n', 'tasks.ts') })
    expect(message).toMatch(/Unknown file extension "\.ts" for .*\. Give the workers a loader: execArgv: \['--import', 'tsx'\], or run Node 22\.18 or later$/)
  })

  it.each(['module.mjs', 'module.cjs'])('%s that loops while it loads is named, with the place', async (name) => {
    const tasks = moduleOf('function spin() {\n  for (;;);\n}\nspin()\n', name)
    const { message } = await refused({ tasks, aliveTimeout: 1_000 })
    expect(message).toMatch(/^No worker could be started \(\d starts failed\): /)
    expect(message).toContain(`${basename(tasks)} had not loaded within `)
    expect(message).toMatch(/it was executing spin \(.*module\.[cm]js:2:\d+\)\. The option 'aliveTimeout' is 1000 ms/)
  })
})
