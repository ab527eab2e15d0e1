/** The built command line against a real RabbitMQ. */
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { hasOpenssl, makeCertificates, PASSPHRASE } from '../amqp/certificates.js'
import { until, withRabbit } from '../amqp/rabbit.js'
import { tlsListener } from '../amqp/tls-listener.js'
import { ownNames, TASKS } from './processes.js'

const THROWS = new URL('../fixtures/starts/throws.js', import.meta.url).pathname

const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

withRabbit('a node', () => {
  const { run, work, inTerminal, queue } = ownNames()

  test('runs jobs, answers commands, obeys them, and drains at SIGTERM', async () => {
    const node = await work('--name', 'alpha')
    expect(await run('publish', 'add', '[1, 2]', '--wait')).toEqual({ code: 0, stdout: '3\n', stderr: '' })
    const ping = await run('control', 'ping', '--node', 'alpha')
    expect(ping.code).toBe(0)
    expect(jsonLines(ping.stdout)).toMatchObject([{ node: 'alpha', ok: true, value: { state: 'running' } }])

    expect((await run('control', 'pause', '--node', 'alpha')).code).toBe(0)
    const id = (await run('publish', 'wait', '[10]')).stdout.trim()
    expect(jsonLines((await run('control', 'stats')).stdout)).toMatchObject([{ value: { state: 'paused', totals: { succeeded: 1 } } }])
    expect((await run('control', 'resume', '--all')).code).toBe(0)
    await node.says(new RegExp(`"job":"${id}".*"msg":"waiting 10 ms"`))
    await until('the job is in the history', async () => {
      const { stdout } = await run('control', 'snapshot')
      const [{ value }] = jsonLines(stdout) as unknown as [{ value: { tasks: { id: string; status: string }[] } }]
      return value.tasks.some((task) => task.id === id && task.status === 'success')
    })

    expect(await run('control', 'stack', '999')).toMatchObject({ code: 6 })
    expect(await node.stop()).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(node.stdout).at(-1)).toMatchObject({ msg: expect.stringContaining('every job in flight has ended') })
    expect((await run('control', 'ping', '--timeout', '2s')).code).toBe(5)
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
    const listed = async () => jsonLines((await run('dlq', 'list')).stdout)
    await until('it is a dead letter', async () => (await listed()).length === 1)
    const [letter] = await listed()
    expect(letter).toMatchObject({ task: 'fail', args: ['no luck'], queue, reason: 'failed', error: 'RangeError: no luck', attempt: 1, requeues: 0 })
    expect(await run('dlq', 'retry', String(letter!.id))).toEqual({ code: 0, stdout: '1 went back to their queues.\n', stderr: '' })
    await until('it came back', async () => (await listed()).some(({ requeues }) => requeues === 1))
    expect(await run('purge', '--dead', '--yes')).toEqual({ code: 0, stdout: `${queue}: 1 removed\n`, stderr: '' })
    expect(await listed()).toEqual([])
    await node.stop()
    await run('publish', 'add', '[1, 2]')
    expect(await run('purge', '--yes')).toEqual({ code: 0, stdout: `${queue}: 1 removed\n`, stderr: '' })
  })

  test('finishes jobs in flight at a stop; jobs that last longer than the grace are exit code 3', async () => {
    const patient = await work()
    const answer = run('publish', 'wait', '[1000]', '--wait')
    await patient.says('waiting 1000 ms')
    expect((await patient.stop()).code).toBe(0)
    expect(await answer).toMatchObject({ code: 0, stdout: '1000\n' })

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
    await top.says('prefork gamma')
    top.process.stdin!.write('+')
    await top.says('grow: done')
    await top.says(/2 of 2/)
    const { stdout: pid } = await execa('pgrep', ['-P', String(top.process.pid), '-f', 'prefork.js'])
    process.kill(Number(pid), 'SIGTERM')
    const { code, stdout } = await top.ended
    expect(code).toBe(0)
    // Ink shows the cursor once more.
    expect(stdout.replaceAll('\x1b[?25h', '').endsWith('\x1b[0m\x1b[?1049l')).toBe(true)
    await node.stop()
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

  test.skipIf(!hasOpenssl)('behind TLS is reached with the files that the variables name', async () => {
    const certificates = makeCertificates()
    const listener = await tlsListener(process.env.RABBITMQ_URL ?? 'amqp://127.0.0.1:5672/', certificates)
    try {
      const { path } = certificates
      const { username, password, pathname } = new URL(process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672/')
      const RABBITMQ_URL = `amqps://${username}:${password}@localhost:${listener.port}${pathname}`
      const own = { RABBITMQ_TLS_CERT: path('client.pem'), RABBITMQ_TLS_KEY: path('client.key') }
      const env = { RABBITMQ_URL, RABBITMQ_TLS_CA: path('ca.pem'), ...own }
      const locked = { ...env, RABBITMQ_TLS_KEY: path('client.locked.key') }
      const opened = { ...locked, RABBITMQ_TLS_PASSPHRASE: `${PASSPHRASE}\n` }
      const node = start(['work', '--tasks', TASKS, '--name', 'epsilon', '--workers', '1', '--verbose'], opened)
      await node.says('"msg":"node up"')
      const shut = await Promise.all(
        [locked, { ...opened, RABBITMQ_TLS_PASSPHRASE: 's3cret' }].map((given) => start(['work', '--tasks', TASKS, '--verbose'], given).ended),
      )
      for (const { code, stdout, stderr } of shut) {
        expect(stderr).toMatch(/^prefork: RABBITMQ_TLS_CA, _CERT, _KEY and _PASSPHRASE cannot be used: .+, and the passphrase\.\n/)
        expect(stdout + stderr).not.toContain('s3cret')
        expect(code).toBe(2)
      }
      expect(await start(['publish', 'add'], { ...env, RABBITMQ_TLS_CA: TASKS }).ended).toMatchObject({
        code: 2,
        stderr: "prefork: RABBITMQ_TLS_CA must name a PEM file, with its line '-----BEGIN …'.\n",
      })
      expect(await start(['publish', 'add', '[1, 2]', '--wait'], env).ended).toMatchObject({ code: 0, stdout: '3\n' })
      expect((await start(['control', 'ping', '--node', 'epsilon'], env).ended).code).toBe(0)
      expect(await start(['dlq', 'list'], env).ended).toMatchObject({ code: 0, stdout: '' })
      expect(await start(['publish', 'add'], { RABBITMQ_URL, ...own }).ended).toMatchObject({ code: 4, stderr: expect.stringContaining('RABBITMQ_TLS_CA') })
      const byNumber = { ...env, RABBITMQ_URL: RABBITMQ_URL.replace('localhost', '127.0.0.1') }
      expect(await start(['publish', 'add'], byNumber).ended).toMatchObject({ code: 4, stderr: expect.stringContaining('RABBITMQ_TLS_SERVERNAME') })
      const named = { ...byNumber, RABBITMQ_TLS_SERVERNAME: 'localhost' }
      expect(await start(['publish', 'add', '[3, 4]', '--wait'], named).ended).toMatchObject({ code: 0, stdout: '7\n' })
      const { code, stdout, stderr } = await node.stop()
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain(PASSPHRASE)
    } finally {
      await listener.close()
      certificates.remove()
    }
  })

  test('carries commands that are signed with the secret, and no others', async () => {
    const secret = { ASYNC_FARM_SECRET: 'a secret for the test' }
    const node = start(['work', '--tasks', TASKS, '--name', 'delta', '--workers', '1'], secret)
    await node.says('"msg":"node up"')
    expect(await run('control', 'shutdown', '--node', 'delta')).toMatchObject({ code: 6, stdout: expect.stringContaining('"ok":false') })
    expect((await start(['control', 'shutdown', '--node', 'delta'], secret).ended).code).toBe(0)
    expect((await node.ended).code).toBe(0)
  })

  test('a module that cannot be loaded ends the node with its name', async () => {
    const { code, stderr } = await start(['work', '--tasks', THROWS, '--workers', '1']).ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^prefork: No worker could be started .*throws\.js.*\n$/)
  })
})
