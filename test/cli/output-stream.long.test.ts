/** The built command line when its output cannot be written. */
import { EventEmitter } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ProcessStream } from '../../src/cli/output/output-stream.js'
import { until, withRabbit } from '../amqp/rabbit.js'
import { ownNames, PREFORK, TASKS } from './processes.js'

const FULL = '/dev/full'
const lostLog = (why: string): RegExp => new RegExp(`^prefork: The log cannot be written: .*${why}.*\\. The node goes on; .*\\n$`)

test('a stream reports the first failure of a write, and tries the next one', () => {
  const stream = Object.assign(new EventEmitter(), { isTTY: true, write: vi.fn() })
  const output = new ProcessStream(stream)
  const listener = vi.fn()
  output.onFailure(listener)
  output.write('1')
  expect([output.isTTY, output.failure]).toEqual([true, undefined])
  const [thrown, emitted] = [new Error('thrown'), new Error('emitted')]
  stream.write.mockImplementationOnce(() => {
    throw thrown
  })
  output.write('2')
  stream.emit('error', emitted)
  output.write('3')
  expect(listener.mock.calls).toEqual([[thrown]])
  expect(stream.write.mock.calls).toEqual([['1'], ['2'], ['3']])
  const late = vi.fn()
  output.onFailure(late)
  expect(late.mock.calls).toEqual([[thrown]])
})

withRabbit('a node whose log', () => {
  const { run, work, start, queue } = ownNames()

  test('has lost its reader goes on, reports it once on stderr, and drains', async () => {
    const node = await work()
    node.process.stdout!.destroy()
    expect((await run('publish', 'wait', '[1000]')).code).toBe(0)
    // Delivered after the job that waits, so the drain waits for that job.
    expect(await run('publish', 'add', '[1, 2]', '--wait')).toMatchObject({ code: 0, stdout: '3\n' })
    const { code, stderr } = await node.stop()
    expect(stderr).toMatch(lostLog('EPIPE'))
    expect(code).toBe(0)
    expect(await run('purge', '--yes')).toEqual({ code: 0, stdout: `${queue}: 0 removed\n`, stderr: '' })
  })

  test('and stderr have no reader goes on', async () => {
    const node = await work()
    node.process.stdout!.destroy()
    node.process.stderr!.destroy()
    expect(await run('publish', 'add', '[1, 2]', '--wait')).toMatchObject({ code: 0, stdout: '3\n' })
    expect((await node.stop()).code).toBe(0)
  })

  test('is on a full disk goes on', async (context) => {
    context.skip(!existsSync(FULL), `there is no ${FULL}`)
    const node = start(['work', '--tasks', TASKS, '--workers', '1'], {}, ['sh', '-c', `exec "$0" "$@" >${FULL}`, PREFORK])
    expect(await run('publish', 'add', '[1, 2]', '--wait')).toMatchObject({ code: 0, stdout: '3\n' })
    const { code, stderr } = await node.stop()
    expect(stderr).toMatch(lostLog('ENOSPC'))
    expect(code).toBe(0)
  })

  // `script` of util-linux makes the terminal.
  test.skipIf(process.platform !== 'linux').each(['', '--tui'])('is on a terminal that is closed drains, and ends with 0 %s', async (flag) => {
    const folder = mkdtempSync(join(tmpdir(), 'prefork-cli-'))
    const [end, errors, pid] = ['end', 'errors', 'pid'].map((name) => join(folder, name)) as [string, string, string]
    onTestFinished(() => {
      // No other process would end it.
      if (existsSync(pid) && !existsSync(end)) process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL')
      rmSync(folder, { recursive: true })
    })
    const typed = [PREFORK, 'work', '--tasks', TASKS, '--workers', '1'].map((each) => `'${each}'`).join(' ')
    // Like a login shell, it forwards the SIGHUP; it outlives the node to write its exit code to a file.
    const shell = `stty rows 24 cols 80; ${typed} ${flag} </dev/tty 2>'${errors}' & echo $! >'${pid}'; trap "kill -HUP $!" HUP; wait; wait $!; echo $? >'${end}'`
    const node = start([], { TERM: 'xterm' }, ['script', '-qfec', shell, '/dev/null'])
    await node.says(flag === '' ? 'node up' : /1 of 1/)
    const job = run('publish', 'wait', '[1000]', '--wait')
    await node.says(flag === '' ? 'waiting 1000 ms' : /running.* {2}wait/)
    await node.stop('SIGKILL')
    expect(await job).toMatchObject({ code: 0, stdout: '1000\n' })
    await until('the node has ended', () => existsSync(end) && readFileSync(end, 'utf8') !== '')
    expect(readFileSync(end, 'utf8')).toBe('0\n')
    // After the dashboard has closed, the node may write nothing more.
    if (flag === '') expect(readFileSync(errors, 'utf8')).toMatch(lostLog('EIO'))
  })
})

withRabbit('a command', () => {
  const { start, queue } = ownNames()

  test('without a reader keeps its exit code', async () => {
    for (const typed of [['publish', 'add', '[1, 2]'], ['dlq', 'list', '--json'], ['purge', '--yes'], ['--help']]) {
      const command = start(typed)
      command.process.stdout!.destroy()
      expect(await command.ended, typed.join(' ')).toMatchObject({ code: 0, stderr: '' })
    }
  })

  test('whose output does not fit on the disk reports it, and fails', async (context) => {
    context.skip(!existsSync(FULL), `there is no ${FULL}`)
    for (const typed of [
      ['purge', '--yes', '--queue', queue],
      ['--help'],
      ['--version'],
      ['help', 'publish'],
      ['work', '--help'],
      ['control', 'ping', '--help'],
    ]) {
      const { code, stderr } = await start(typed, {}, ['sh', '-c', `exec "$0" "$@" >${FULL}`, PREFORK]).ended
      expect(stderr, typed.join(' ')).toMatch(/^prefork: The output cannot be written: ENOSPC.*\n$/)
      expect(code, typed.join(' ')).toBe(1)
    }
  })
})
