/** The built command line against a real RabbitMQ: the main case. The others: farm.long.test.ts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until, withRabbit } from '../amqp/rabbit.js'
import { scratch } from '../fixtures/support.js'
import { jsonLines, ownNames } from './processes.js'

withRabbit('a node', () => {
  const { run, work } = ownNames()

  test('runs jobs, answers commands, obeys them, and drains at SIGTERM', async () => {
    const node = await work('--name', 'alpha')
    expect(await run('publish', 'add', '[1, 2]', '--wait')).toEqual({ code: 0, stdout: '3\n', stderr: '' })
    const ping = await run('control', 'ping', '--node', 'alpha')
    expect(ping.code).toBe(0)
    expect(jsonLines(ping.stdout)).toMatchObject([{ node: 'alpha', ok: true, value: { state: 'running' } }])

    expect((await run('control', 'pause', '--node', 'alpha')).code).toBe(0)
    const id = (await run('publish', 'wait', '[10]')).stdout.trim()
    expect(jsonLines((await run('control', 'stats', '--node', 'alpha')).stdout)).toMatchObject([{ value: { state: 'paused', totals: { succeeded: 1 } } }])
    expect((await run('control', 'resume', '--all')).code).toBe(0)
    await node.says(new RegExp(`"job":"${id}".*"msg":"waiting 10 ms"`))
    await until('the job is in the history', async () => {
      const { stdout } = await run('control', 'snapshot', '--node', 'alpha')
      const [{ value }] = jsonLines(stdout) as unknown as [{ value: { tasks: { id: string; status: string }[] } }]
      return value.tasks.some((task) => task.id === id && task.status === 'success')
    })

    expect(await run('control', 'stack', '999', '--node', 'alpha')).toMatchObject({ code: 6 })
    const file = join(scratch(), 'it.cpuprofile')
    const profiled = await run('control', 'profile', '1', '--node', 'alpha', '--ms', '100', '--output', file)
    expect(profiled).toMatchObject({ code: 0, stdout: expect.stringMatching(/^alpha, worker 1: .* idle .*\n.*it\.cpuprofile\n/), stderr: '' })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ nodes: expect.any(Array) })
    expect(await node.stop()).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(node.stdout).at(-1)).toMatchObject({ msg: expect.stringContaining('every job in flight has ended') })
    // The time of the command includes that of the connection.
    expect((await run('control', 'ping', '--timeout', '1500ms')).code).toBe(5)
  })
})
