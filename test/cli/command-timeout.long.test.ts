/** `--timeout`, against a RabbitMQ that stops reading. The message names the time limit that ended the command. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { CommandTimeout } from '../../src/cli/command-timeout.js'
import { RABBITMQ_URL, withRabbit } from '../amqp/rabbit.js'
import { type TcpProxy, tcpProxy } from '../amqp/tcp-proxy.js'
import { ownNames } from './processes.js'

const PUBLISH = [60, 40] as const
const never = new Promise<void>(() => {})

withRabbit('--timeout', () => {
  const { run } = ownNames()
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterEach(() => proxy.cut())
  afterAll(() => proxy.close())
  const commands = [
    ['publish', 'add', '[1, 2]'],
    ['publish', 'add', '[1, 2]', '--wait'],
    ['control', 'ping'],
    ['control', 'stats', '--node', 'nobody'],
  ]
  /** All commands at once: each of them mostly waits. */
  const ends = (...flags: string[]) => Promise.all(commands.map(async (typed) => ({ typed, ...(await run(...typed, ...flags)) })))

  test('RabbitMQ reads no publication, as during an alarm', async () => {
    proxy.before(...PUBLISH, () => never)
    // Long enough for a connection on a machine that is busy with other tests.
    for (const { typed, code, stdout, stderr } of await ends('--timeout', '4s', '--broker', proxy.url)) {
      const unanswered = typed[0] === 'control'
      expect(stderr).toMatch(
        unanswered ? /^prefork: No (node )?answer(ed)? within 4 s[^\n]*\n$/ : /^prefork: RabbitMQ did not confirm the job within 4 s[^\n]*\n$/,
      )
      expect({ typed, code, stdout }).toEqual({ typed, code: unanswered ? 5 : 4, stdout: '' })
    }
  })

  test('the peer never answers', async () => {
    proxy.freeze()
    for (const { typed, code, stderr } of await ends('--timeout', '1s', '--broker', proxy.url)) {
      expect(stderr).toMatch(/^prefork: RabbitMQ at [^\n]* cannot be reached within 1 s\.[^\n]*\n$/)
      expect({ typed, code }).toEqual({ typed, code: 4 })
    }
  })

  test('the port is closed', async () => {
    for (const { typed, code, stderr } of await ends('--timeout', '300ms', '--broker', 'amqp://127.0.0.1:1')) {
      expect(stderr).toMatch(/^prefork: RabbitMQ at [^\n]* cannot be reached within 0\.3 s\.[^\n]*\n$/)
      expect({ typed, code }).toEqual({ typed, code: 4 })
    }
  })
})

test('a close is not awaited past the deadline; one that fails rejects', async () => {
  const deadline = new CommandTimeout(1)
  await deadline.closing(never)
  await expect(deadline.closing(Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(deadline.left).toBe(1)
})

test('a promise settles as it does in time; after the deadline it is exit code 4', async () => {
  const deadline = new CommandTimeout(50)
  expect(await deadline.bound(Promise.resolve('there'), 'late')).toBe('there')
  await expect(deadline.bound(Promise.reject(new RangeError('no')), 'late')).rejects.toThrow(RangeError)
  await expect(deadline.bound(never, 'it is late')).rejects.toMatchObject({ message: 'it is late', exitCode: 4 })
})
