/** The built command line against a Faktory server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, describe, expect, test } from 'vitest'
import { sharedFaktory } from '../fixtures/faktory.js'
import { until } from '../fixtures/until.js'
import { jsonLines, PREFORK, Prefork, TASKS } from './processes.js'

describe('a node of a Faktory server', () => {
  const faktory = sharedFaktory()
  const folder = mkdtempSync(join(tmpdir(), 'prefork-faktory-'))
  const control = join(folder, 'nodes')
  const started: Prefork[] = []
  const start = (typed: readonly string[], env: NodeJS.ProcessEnv = {}): Prefork => {
    const options = {
      extendEnv: false,
      reject: false,
      buffer: false,
      killSignal: 'SIGKILL',
      env: { PATH: process.env.PATH, FAKTORY_URL: faktory.url, ...env },
    } as const
    const prefork = new Prefork(execa(PREFORK, typed, options))
    started.push(prefork)
    return prefork
  }
  const run = (...typed: string[]) => start(typed).ended
  afterAll(async () => {
    for (const { process } of started) process.kill()
    await Promise.all(started.map((each) => each.ended))
    rmSync(folder, { recursive: true, force: true })
  })

  test('runs jobs, answers commands over its control socket, and drains at SIGTERM', async () => {
    const [critical, low] = [faktory.newQueue(), faktory.newQueue()]
    const node = start([
      'work',
      '--log-level',
      'debug',
      '--tasks',
      TASKS,
      '--workers',
      '1',
      '--name',
      'alpha',
      '--queue',
      `${critical},5`,
      '--queue',
      `${low},1`,
      '--control',
      control,
    ])
    await node.says('"msg":"node up"')
    const published = await run('publish', 'add', '[1, 2]', '--queue', low, '--custom', '{"locale":"de"}')
    expect(published).toMatchObject({ code: 0, stderr: '' })
    await node.says(new RegExp(`"job":"${published.stdout.trim()}"`))
    const ping = await run('control', 'ping', '--control', control)
    expect(jsonLines(ping.stdout)).toMatchObject([{ node: 'alpha', ok: true, value: { state: 'running' } }])
    await until('the job is acknowledged', async () => {
      const { stdout } = await run('control', 'stats', '--node', 'alpha', '--control', control)
      const [{ value }] = jsonLines(stdout) as unknown as [{ value: { totals: { succeeded: number } } }]
      return value.totals.succeeded === 1
    })
    expect(await node.stop()).toMatchObject({ code: 0, stderr: '' })
    const silent = await run('control', 'ping', '--control', control)
    expect(silent).toMatchObject({ code: 5, stderr: expect.stringContaining(`No node is at work on ${control}`) })
  })

  test('purges a queue, counts the dead, and puts them back', async () => {
    const queue = faktory.newQueue()
    const [first, second] = [
      await run('publish', 'add', '[1]', '--queue', queue, '--retry', '-1'),
      await run('publish', 'add', '[1]', '--queue', queue, '--delay', '30d'),
    ]
    const jid = first.stdout.trim()
    const worker = await faktory.connect()
    expect(await worker.fetch(queue)).toMatchObject({ jid, retry: -1 })
    await worker.ask(`FAIL ${JSON.stringify({ jid, errtype: 'E', message: 'm' })}`)
    expect(jsonLines((await run('dlq', 'list')).stdout)[0]!.dead).toBeGreaterThan(0)
    expect(await run('dlq', 'retry', '--all', '--queue', queue)).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${queue}: 1 went back\\n`)),
      stderr: '',
    })
    expect(await run('purge', '--yes', '--queue', queue)).toEqual({ code: 0, stdout: `${queue}: 2 removed\n`, stderr: '' })
    expect(second.stdout).toMatch(/^[0-9a-f-]{36}\n$/)
  })

  test('says in a line what does not work', async () => {
    const failing = async (code: number, message: string, ...typed: string[]) =>
      expect(await run(...typed)).toEqual({ code, stdout: '', stderr: expect.stringMatching(new RegExp(`^prefork: .*${message}.*\\n$`)) })
    await failing(2, 'Faktory keeps no results|It keeps no results', 'publish', 'add', '[1]', '--wait')
    await failing(2, 'carries no commands: a node is reached by --control PATH', 'control', 'ping')
    await failing(2, '--control must be a path in a folder that exists', 'control', 'ping', '--control', join(folder, 'no', 'where'))
    await failing(4, 'cannot be reached.*ECONNREFUSED', 'purge', '--yes', '--broker', 'tcp://127.0.0.1:1')
    await failing(2, 'prefork queue is for a queue in a file', 'queue', 'counts')
    expect(await run('publish', 'add', '[1]', '--broker', 'tcp://127.0.0.1:1', '--timeout', '500ms')).toEqual({
      ...{ code: 4, stdout: '' },
      stderr: 'prefork: Faktory at tcp://127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1. It was tried for 500 ms.\n',
    })
    await failing(
      2,
      'The number 12345678901234567890 cannot be sent, as it would be read as 12345678901234567000: send it as a text',
      'publish',
      'add',
      '[12345678901234567890]',
    )
    await failing(2, 'args\\[0\\] is the number 9007199254740992, which is beyond 2\\^53 - 1', 'publish', 'add', '[9007199254740992]')
  })
})
