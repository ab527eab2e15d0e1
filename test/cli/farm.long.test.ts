/** The built command line against a real RabbitMQ: its dashboards, its dead letters, its secrets, and a broker that is away or refuses. */
import { execa } from 'execa'
import { listDeadLetters } from 'prefork/amqp'
import { expect, test } from 'vitest'
import { RABBITMQ_URL, until, withRabbit } from '../amqp/rabbit.js'
import { jsonLines, ownNames, TASKS } from './processes.js'

const THROWS = new URL('../fixtures/starts/throws.js', import.meta.url).pathname

withRabbit('a node', () => {
  const { run, start, work, inTerminal, queue, env } = ownNames()

  test('--tui shows a dashboard, and restores the terminal', async (context) => {
    context.skip(process.platform !== 'linux', 'the terminal is made by script of util-linux')
    const node = inTerminal('work', '--tasks', TASKS, '--workers', '1', '--name', 'beta', '--tui')
    await node.says('prefork beta')
    await node.says(/1 of 1/)
    await run('publish', 'wait', '[20]')
    await node.says(/success.* {2}wait/)
    node.process.stdin!.write('q')
    await node.says('Drain and stop this node? y / n')
    node.process.stdin!.write('y')
    const { code, stdout } = await node.ended
    expect(code).toBe(0)
    const end = stdout.lastIndexOf('\x1b[0m\x1b[?25h\x1b[?1049l')
    expect(end).toBeGreaterThan(0)
    expect(stdout.slice(end)).toContain('Stopped: every job in flight has ended')
  })

  test('top shows remote nodes; SIGTERM restores the terminal', async (context) => {
    context.skip(process.platform !== 'linux', 'the terminal is made by script of util-linux')
    const node = await work('--name', 'gamma')
    const top = inTerminal('top')
    await top.says('prefork 1 node, 1 worker')
    top.process.stdin!.write('+')
    await top.says('gamma: grow: done')
    top.process.stdin!.write('\r')
    await top.says(/2 of 2/)
    await run('publish', 'fail', '["no luck"]', '--max-attempts', '1')
    await top.says(/failure +fail: RangeError: no luck/)
    top.process.stdin!.write('\t')
    top.process.stdin!.write('\r')
    for (const text of ['["no luck"]', 'at fail (', 'Runs that failed']) await top.says(text)
    top.process.stdin!.write('d')
    await top.says('dead letters: 1')
    top.process.stdin!.write('R')
    await top.says(/Retry fail .* y \/ n/)
    top.process.stdin!.write('y')
    await top.says('retry: it went back to its queue')
    // It fails again.
    await until('it came back', async () => (await listDeadLetters({ url: RABBITMQ_URL, queue })).some(({ history }) => history.length === 2))
    expect(await run('purge', '--dead', '--yes')).toMatchObject({ code: 0 })
    const { stdout: pid } = await execa('pgrep', ['-P', String(top.process.pid), '-f', 'prefork.js'])
    process.kill(Number(pid), 'SIGTERM')
    const { code, stdout } = await top.ended
    expect(code).toBe(0)
    // Ink shows the cursor once more.
    expect(stdout.replaceAll('\x1b[?25h', '').endsWith('\x1b[0m\x1b[?1049l')).toBe(true)
    await node.stop()
  })

  test('keeps its secrets from its workers, and its password from the list of processes', async () => {
    const broker = env.RABBITMQ_URL.replace(/^amqp:\/\/(?!.*@)/, 'amqp://guest:guest@')
    const { password } = new URL(broker)
    const secrets = { ASYNC_FARM_SECRET: 'long enough', RABBITMQ_TLS_PASSPHRASE: '', RABBITMQ_URL: broker, OTHER: 'kept' }
    const node = start(['work', '--tasks', TASKS, '--workers', '1', '--broker', broker], secrets)
    await node.says('"msg":"node up"')
    const inWorker = JSON.parse((await run('publish', 'variables', '--wait')).stdout) as string[]
    expect(inWorker).toContain('OTHER')
    for (const name of ['ASYNC_FARM_SECRET', 'RABBITMQ_TLS_PASSPHRASE', 'RABBITMQ_URL']) expect(inWorker).not.toContain(name)
    const { stdout: listed } = await execa('ps', ['-ww', '-o', 'args=', '-p', String(node.process.pid)])
    expect(listed).toMatch(/^prefork work --tasks .*--broker amqp:/m)
    expect(listed).toContain(':***@')
    expect(listed).not.toContain(`:${password}@`)
    await node.stop()
  })

  test('is quiet after SIGTSTP, and takes jobs again after SIGCONT', async () => {
    const node = await work('--http', '0')
    const port = /"port":(\d+)/.exec(node.stdout)![1]
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
    expect(await ready()).toBe(200)
    node.process.kill('SIGTSTP')
    await until('it is quiet', async () => (await ready()) === 503)
    const answer = run('publish', 'add', '[1, 2]', '--wait')
    node.process.kill('SIGCONT')
    await until('it runs again', async () => (await ready()) === 200)
    expect(await answer).toMatchObject({ code: 0, stdout: '3\n' })
    expect((await node.stop()).code).toBe(0)
  })

  test('lists, retries and purges the dead letter of a failed job', async () => {
    const node = await work()
    expect(await run('publish', 'fail', '["no luck"]', '--wait', '--max-attempts', '1')).toEqual({
      code: 6,
      stdout: '',
      stderr: 'prefork: fail failed: RangeError: no luck\n',
    })
    // Asked here as long as it takes: the command line is a process each time.
    const stored = () => listDeadLetters({ url: RABBITMQ_URL, queue })
    const listed = async () => jsonLines((await run('dlq', 'list')).stdout)
    const first = await until('it is a dead letter', async () => (await stored())[0])
    const [letter] = await listed()
    expect(letter).toMatchObject({ task: 'fail', args: ['no luck'], queue, reason: 'failed', error: 'RangeError: no luck', attempt: 1, requeues: 0 })
    expect(await run('dlq', 'retry', String(letter!.id))).toEqual({ code: 0, stdout: '1 went back to their queues.\n', stderr: '' })
    await until('it came back', async () => (await stored()).some(({ at }) => at !== first.at))
    expect(await run('purge', '--dead', '--yes')).toEqual({ code: 0, stdout: `${queue}: 1 removed\n`, stderr: '' })
    expect(await listed()).toEqual([])
    await node.stop()
    await run('publish', 'add', '[1, 2]')
    expect(await run('purge', '--yes')).toEqual({ code: 0, stdout: `${queue}: 1 removed\n`, stderr: '' })
  })

  test('finishes jobs in flight at a stop', async () => {
    const patient = await work()
    const answer = run('publish', 'wait', '[1000]', '--wait')
    await patient.says('waiting 1000 ms')
    expect((await patient.stop()).code).toBe(0)
    expect(await answer).toMatchObject({ code: 0, stdout: '1000\n' })
  })
})

withRabbit('a node without enough grace', () => {
  const { run, work } = ownNames()

  test('exits with code 3; its job, which had begun and was killed, is delivered again', async () => {
    const hasty = await work('--grace', '100ms')
    await run('publish', 'wait', '[60000]')
    await hasty.says('waiting 60000 ms')
    expect((await hasty.stop()).code).toBe(3)
    // The job had begun and was killed: it is delivered again.
    const next = await work()
    await next.says('waiting 60000 ms')
    next.process.kill('SIGTERM')
    await next.says('Draining')
    expect((await next.stop('SIGINT')).code).toBe(3)
    await run('purge', '--yes')
  })
})

withRabbit('the broker', () => {
  const { start, run } = ownNames()
  const AWAY = 'amqp://127.0.0.1:1/'

  test('is unavailable: a node logs it and retries, other commands fail', async () => {
    const broken = start(['work', '--tasks', THROWS], { RABBITMQ_URL: AWAY })
    const node = start(['work', '--tasks', TASKS], { RABBITMQ_URL: AWAY })
    await node.says('RabbitMQ cannot be reached, and is tried again')
    expect((await node.stop()).code).toBe(0)
    for (const typed of [
      ['publish', 'add', '--timeout', '500ms'],
      ['dlq', 'list'],
      ['purge', '--yes'],
    ]) {
      const { code, stderr } = await start(typed, { RABBITMQ_URL: AWAY }).ended
      expect(stderr).toMatch(/^prefork: RabbitMQ at amqp:\/\/127\.0\.0\.1:1\/? cannot be reached.*\n$/)
      expect(code).toBe(4)
    }
    // Errors that an available broker would not change.
    expect(await broken.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^prefork: No worker could be started .*throws\.js.*\n$/) })
  })

  test('refuses the login: no command retries, none prints the password', async () => {
    const url = process.env.RABBITMQ_URL ?? 'amqp://127.0.0.1:5672/'
    const wrong = Object.assign(new URL(url), { username: 'nobody', password: 'hunter22' }).href
    for (const typed of [
      // No worker tries to load this module.
      ['work', '--tasks', THROWS],
      ['control', 'ping'],
      ['publish', 'add'],
    ]) {
      const { code, stdout, stderr } = await start(typed, { RABBITMQ_URL: wrong }).ended
      expect(stderr).toMatch(/^prefork: .*refused the login.*\n$/)
      expect(stdout + stderr).not.toContain('hunter22')
      expect(code).toBe(4)
    }
  })

  test('a module that cannot be loaded ends the node with its name', async () => {
    const { code, stderr } = await start(['work', '--tasks', THROWS, '--workers', '1']).ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^prefork: No worker could be started .*throws\.js.*\n$/)
  })

  test('carries commands that are signed with the secret, and no others', async () => {
    const secret = { ASYNC_FARM_SECRET: 'a secret for the test' }
    const node = start(['work', '--tasks', TASKS, '--name', 'delta', '--workers', '1'], secret)
    await node.says('"msg":"node up"')
    expect(await run('control', 'shutdown', '--node', 'delta')).toMatchObject({ code: 6, stdout: expect.stringContaining('"ok":false') })
    expect((await start(['control', 'shutdown', '--node', 'delta'], secret).ended).code).toBe(0)
    expect((await node.ended).code).toBe(0)
  })
})
