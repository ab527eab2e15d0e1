/** The built command line over a queue in a file, with no server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, describe, expect, it } from 'vitest'
import { until } from '../fixtures/until.js'
import { hasSqlite } from '../queue/store/sqlite/files.js'
import { type Ended, jsonLines, PREFORK, Prefork, TASKS } from './processes.js'

const OPTIONS = { extendEnv: false, reject: false, buffer: false, killSignal: 'SIGKILL' } as const

describe('prefork over a queue in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  const broker = `sqlite:${join(folder, 'jobs.db')}`
  const started: Prefork[] = []
  afterAll(() => {
    for (const each of started) each.process.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const start = (...typed: string[]): Prefork => {
    const each = new Prefork(execa(process.execPath, [PREFORK, ...typed, '--broker', broker], { ...OPTIONS, env: { PATH: process.env.PATH, NO_COLOR: '1' } }))
    started.push(each)
    return each
  }
  const run = (...typed: string[]): Promise<Ended> => start(...typed).ended
  const counts = async () => jsonLines((await run('queue', 'counts')).stdout)[0]!

  it.skipIf(hasSqlite)('needs a newer Node, and says which', async () => {
    expect(await run('publish', 'add', '[1, 2]')).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('needs Node 22.13 or later') })
  })

  it.skipIf(!hasSqlite)('works, publishes, shows, changes, and gives back what a killed node had', { timeout: 120_000 }, async () => {
    expect(await run('queue', 'counts')).toMatchObject({ code: 4, stderr: expect.stringContaining('There is no file') })
    const id = (await run('publish', 'add', '[1, 2]')).stdout.trim()
    expect(await counts()).toMatchObject({ queue: 'default', waiting: 1, completed: 0 })

    const node = start('work', '--tasks', TASKS, '--workers', '1', '--name', 'alpha')
    await node.says('node up')
    expect(await run('publish', 'add', '[3, 4]', '--wait')).toEqual({ code: 0, stdout: '7\n', stderr: '' })
    expect(jsonLines((await run('queue', 'show', id)).stdout)).toMatchObject([{ id, state: 'completed', node: 'alpha', args: [1, 2] }])

    expect(await run('publish', 'fail', '["no"]', '--wait', '--max-attempts', '1')).toMatchObject({ code: 6, stdout: '' })
    const [letter] = jsonLines((await run('dlq', 'list')).stdout)
    expect(letter).toMatchObject({ task: 'fail', queue: 'default', reason: 'failed' })
    expect(await run('dlq', 'retry', letter!.id as string)).toMatchObject({ code: 0, stdout: '1 went back to their queues.\n' })
    await until('it has failed again', async () => (await counts()).failed === 1)
    expect(await run('purge', '--dead', '--yes')).toMatchObject({ code: 0, stdout: 'default: 1 removed\n' })

    const long = (await run('publish', 'wait', '[2000]')).stdout.trim()
    await until('it runs', async () => (await counts()).active === 1)
    await node.stop('SIGKILL')
    const second = start('work', '--tasks', TASKS, '--workers', '1')
    await until('it has run again', async () => (await counts()).active === 0 && (await counts()).waiting === 0)
    expect(jsonLines((await run('queue', 'show', long)).stdout)).toMatchObject([{ state: 'completed', counts: { losses: 1 } }])
    expect(await second.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  it('has no commands to nodes, and says what there is', async () => {
    expect(await run('control', 'ping')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('prefork queue shows and changes its jobs') })
  })
})
