import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PreforkError, WorkerStartError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, startPool, upPids } from '../fixtures/pools.js'
import { failure, scratch, until, within } from '../fixtures/support.js'
import { neverLoaded, nothingLeft, refused, withStarts } from './bad-start.js'

describe('promise 8: createPool with a task module', () => {
  it('that has a syntax error rejects with its line', async () => {
    const module = join(scratch(), 'unparsed.mjs')
    writeFileSync(module, 'export const one = () => 1\nexport const two = () => 2 3\n')
    const error = await refused({ tasks: module, workers: 1 })
    expect(error.message).toContain(`${module}: Unexpected number (line 2)`)
    expect(error.cause).toBeInstanceOf(SyntaxError)
    await nothingLeft()
  })

  it('that imports a module with a syntax error rejects with the path and line of that module', async () => {
    const folder = scratch()
    const module = join(folder, 'parsed.mjs')
    writeFileSync(module, "import { one } from './between.mjs'\nexport const two = () => one\n")
    writeFileSync(join(folder, 'between.mjs'), "export { one } from './unparsed.mjs'\nimport './parsed.mjs'\nimport 'node:fs'\n")
    writeFileSync(join(folder, 'unparsed.mjs'), 'export const one = () => 1\nexport const two = ;\n')
    const { message } = await refused({ tasks: module, workers: 1 })
    expect(message).toContain(`${module}: Unexpected token ';' (${join(folder, 'unparsed.mjs')}, line 2)`)
    await nothingLeft()
  })

  it('that throws a SyntaxError of its own rejects with that alone', async () => {
    const module = join(scratch(), 'parses.mjs')
    writeFileSync(module, "JSON.parse('{')\nexport const one = () => 1\n")
    expect((await refused({ tasks: module, workers: 1 })).message).toMatch(/parses\.mjs: [^(]*JSON[^(]*( \(line 1 column 2\))?$/)
  })

  it('that has a syntax error rejects with it under --permission, where no process can be started to find its line', async () => {
    const module = join(scratch(), 'unparsed.mjs')
    writeFileSync(module, 'export const two = ;\n')
    const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'
    const execArgv = [permission, '--allow-fs-read=*', '--allow-worker', '--allow-addons', '--no-warnings']
    expect((await refused({ tasks: module, workers: 1, execArgv })).message).toContain(`${module}: Unexpected token ';'`)
  })

  it('that throws a value without text, or writes junk into the results pipe, rejects; the host is unharmed', async () => {
    for (const name of ['throws-oddly.js', 'forges.js']) {
      const error = await refused(withStarts(name).options)
      expect(error).toBeInstanceOf(WorkerStartError)
      expect(error.message).toMatch(name === 'forges.js' ? /forges\.js/ : /throws-oddly\.js: .*no text/)
      await nothingLeft()
    }
  })

  neverLoaded(['awaits.js', 'hook-hangs.js'])

  it('whose start hook throws rejects with that error', async () => {
    const { starts, options } = withStarts('hook-throws.js')
    const error = await refused(options)
    expect(error).toBeInstanceOf(WorkerStartError)
    expect(error.cause).toMatchObject({ message: 'the start hook failed' })
    expect(starts.lines.length).toBeLessThanOrEqual(4)
  })

  it("that exports the name of another module's task rejects and gives the name", async () => {
    const error = await refused({ tasks: [fixture('tasks.js'), fixture('duplicate-name.js')] })
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(/\becho\b/)
    expect(error.message).toContain('duplicate-name.js')
    await nothingLeft()
  })

  it('that creates a pool while it loads in a worker rejects by name and starts no further pools', async () => {
    const { starts, options } = withStarts('fork-storm.js', { workers: 2 })
    const error = await refused(options)
    expect(error).toBeInstanceOf(PreforkError)
    expect(error.message).toContain('fork-storm.js')
    expect(starts.lines.length).toBeLessThanOrEqual(6)
    await nothingLeft()
  })

  it('that loads slowly within aliveTimeout resolves; a start beyond it is repeated with twice the time', async () => {
    const slow = withStarts('slow.js', { aliveTimeout: 10_000 })
    const patient = await startPool({ ...slow.options, env: { ...slow.options.env, PREFORK_TEST_LOAD_MS: '600' } })
    expect(upPids(patient)).toEqual(slow.starts.lines.map(Number))
    const second = withStarts('slow.js', { aliveTimeout: 1_500 })
    const pool = await startPool({ ...second.options, env: { ...second.options.env, PREFORK_TEST_LOAD_MS: '1800' } })
    // The first start had 900 ms, the second 1,800; a slow machine needs a third.
    expect(second.starts.lines.length).toBeGreaterThanOrEqual(2)
    expect(second.starts.lines.length).toBeLessThanOrEqual(3)
    expect(await pool.run('pid', [])).toBe(Number(second.starts.lines.at(-1)))
  })

  it('that loads again after a failed restart keeps the waiting jobs at a later crash and gives the next restart all its tries', async () => {
    const broken = `${scratch()}/broken`
    const { starts, options } = withStarts('sometimes.js')
    const pool = await startPool({ ...options, env: { ...options.env, PREFORK_TEST_BROKEN: broken } })
    expect(await pool.run('pid', [])).toBeGreaterThan(0)
    const giveUp = async (): Promise<number> => {
      const before = starts.lines.length
      writeFileSync(broken, '')
      expect(await failure(pool.restart())).toMatchObject({ name: 'WorkerStartError', message: expect.stringContaining('3 starts failed') })
      rmSync(broken)
      return starts.lines.length - before
    }
    expect(await giveUp()).toBe(3)
    expect(await giveUp()).toBe(3)
    const [pid] = upPids(pool)
    process.kill(pid!, 'SIGKILL')
    const answers = await Promise.all(Array.from({ length: 3 }, () => pool.run('pid', [])))
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).not.toBe(pid)
  })
})

it.each(['host', 'process'] as const)(
  'promise 8: with launcher: %s, jobs that wait name a removed working directory, and run once it exists again',
  async (launcher) => {
    const cwd = join(scratch(), 'work')
    mkdirSync(cwd)
    const pool = await startPool({ cwd, launcher })
    rmSync(cwd, { recursive: true })
    process.kill(upPids(pool)[0]!, 'SIGKILL')
    const error = (await failure(pool.run('pid', []))) as WorkerStartError
    expect(error).toBeInstanceOf(WorkerStartError)
    const said = `No worker process could be started: its working directory is gone (${cwd}, the option 'cwd'). Make it again.`
    expect(error.message).toContain(said.slice(0, -1))
    expect(error.cause).toMatchObject({ message: said, cause: { code: 'ENOENT' } })
    mkdirSync(cwd)
    expect(
      await until('the pool has recovered', () =>
        pool.run('cwd', []).then(
          (where) => where === realpathSync(cwd),
          () => false,
        ),
      ),
    ).toBe(true)
  },
)

it('promise 8: a failed createPool does not prevent the next one', async () => {
  await refused({ tasks: fixture('no-such-module.js') })
  const pool = await startPool()
  expect(await within(pool.run('echo', ['fine']), 10_000)).toBe('fine')
})
