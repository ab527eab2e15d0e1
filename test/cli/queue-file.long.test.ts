/** The built command line over a queue in a file, with no server. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { until } from '../fixtures/until.js'
import { hasSqlite } from '../queue/store/sqlite/files.js'
import { type Ended, jsonLines, PREFORK, Prefork, TASKS } from './processes.js'

const OPTIONS = { extendEnv: false, reject: false, buffer: false, killSignal: 'SIGKILL' } as const

describe('prefork over a queue in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  const broker = `sqlite:${join(folder, 'jobs.db')}`
  const started: Prefork[] = []
  // The next test counts the nodes.
  afterEach(() => Promise.all(started.splice(0).map((each) => each.stop('SIGKILL'))))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
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

    const latch = join(folder, 'latch')
    const long = (await run('publish', 'waitForFile', JSON.stringify([latch]))).stdout.trim()
    await until('it runs', async () => (await counts()).active === 1)
    await node.stop('SIGKILL')
    writeFileSync(latch, '')
    const second = start('work', '--tasks', TASKS, '--workers', '1')
    await until('it has run again', async () => (await counts()).active === 0 && (await counts()).waiting === 0)
    expect(jsonLines((await run('queue', 'show', long)).stdout)).toMatchObject([{ state: 'completed', counts: { losses: 1 } }])
    expect(await second.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  it.skipIf(!hasSqlite)('sends commands to nodes; a killed one is not waited for', { timeout: 120_000 }, async () => {
    const [alpha, beta] = ['alpha', 'beta'].map((name) => start('work', '--tasks', TASKS, '--workers', '1', '--name', name)) as [Prefork, Prefork]
    await Promise.all([alpha.says('node up'), beta.says('node up')])
    const both = await run('control', 'ping')
    expect(both).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(both.stdout)).toHaveLength(2)
    expect(jsonLines(both.stdout)).toEqual(
      expect.arrayContaining(
        ['alpha', 'beta'].map((node) => expect.objectContaining({ node, ok: true, value: expect.objectContaining({ state: 'running' }) })),
      ),
    )

    expect(await run('control', 'pause', '--all')).toMatchObject({ code: 0 })
    const id = (await run('publish', 'add', '[1, 2]')).stdout.trim()
    expect(jsonLines((await run('control', 'stats', '--node', 'alpha')).stdout)).toMatchObject([
      { node: 'alpha', value: { state: 'paused', queues: ['default'] } },
    ])
    expect(jsonLines((await run('queue', 'show', id)).stdout)).toMatchObject([{ state: 'waiting' }])
    expect(await run('control', 'resume', '--all')).toMatchObject({ code: 0 })
    await until('it has run', async () => jsonLines((await run('queue', 'show', id)).stdout)[0]!.state === 'completed')

    expect(await run('control', 'stack', '99', '--node', 'beta')).toMatchObject({ code: 6, stdout: expect.stringContaining('There is no worker 99') })
    expect(await run('control', 'pause')).toMatchObject({ code: 2, stderr: expect.stringContaining('pause needs an address') })
    expect(await run('control', 'ping', '--control-exchange', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--control-exchange is for RabbitMQ'),
    })
    // A node that is not there is not waited for either: the time limit is longer than the test's.
    const gone = await run('control', 'ping', '--node', 'gamma', '--timeout', '10m')
    expect(gone).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('No node gamma is at work on sqlite:') })

    beta.process.kill('SIGSTOP')
    const suspended = await run('control', 'ping', '--timeout', '10s')
    expect([suspended.code, jsonLines(suspended.stdout).map(({ node }) => node)]).toEqual([5, ['alpha']])
    expect(suspended.stderr).toMatch(/Another node is at work on sqlite:.*, with no answer within 10 s: suspended, or busy\./)
    await beta.stop('SIGKILL')
    const left = await run('control', 'ping', '--timeout', '10m')
    expect([left.code, jsonLines(left.stdout).map(({ node }) => node)]).toEqual([0, ['alpha']])
    expect(await run('control', 'shutdown', '--node', 'alpha')).toMatchObject({ code: 0 })
    expect(await alpha.ended).toMatchObject({ code: 0, stderr: '' })
    expect(await run('control', 'ping', '--timeout', '10m')).toMatchObject({ code: 5, stderr: expect.stringContaining('No node is at work on sqlite:') })
    expect(readdirSync(folder).filter((name) => name.endsWith('.ctl'))).toEqual([])
  })

  it.skipIf(!hasSqlite)('shows nodes in top, also one that comes, and one that dies', { timeout: 120_000 }, async (context) => {
    context.skip(process.platform !== 'linux', 'the terminal is made by script of util-linux')
    const node = start('work', '--tasks', TASKS, '--workers', '1', '--name', 'alpha')
    await node.says('node up')
    const typed = [process.execPath, PREFORK, 'top', '--broker', broker].map((each) => `'${each}'`).join(' ')
    const env = { PATH: process.env.PATH, NO_COLOR: '1', TERM: 'xterm' }
    const top = new Prefork(execa('script', ['-qfec', `stty rows 24 cols 80; exec ${typed}`, '/dev/null'], { ...OPTIONS, env }))
    started.push(top)
    await top.says('prefork 1 node, 1 worker')
    top.process.stdin!.write('+')
    await top.says('alpha: grow: done')
    await top.says('1 node, 2 workers')
    await run('publish', 'add', '[1, 2]')
    await top.says(/success +add/)
    const other = start('work', '--tasks', TASKS, '--workers', '1', '--name', 'beta')
    await top.says('2 nodes, 3 workers')
    await other.stop()
    await node.stop('SIGKILL')
    await top.says('alpha is gone: its process has died')
    top.process.stdin!.write('q')
    expect(await top.ended).toMatchObject({ code: 0 })
  })

  it.skipIf(!hasSqlite)('ends a node whose file is removed with what happened, and no success', { timeout: 120_000 }, async () => {
    const node = start('work', '--tasks', TASKS, '--workers', '1')
    await node.says('node up')
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true })
    expect(await node.ended).toMatchObject({ code: 4, stderr: expect.stringMatching(/^prefork: Stopped: .*jobs\.db was removed/) })
  })
})
