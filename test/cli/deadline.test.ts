/** `--timeout`, against a RabbitMQ that stops to listen. The lines say which bound it was that ended the command. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Deadline } from '../../src/cli/deadline.js'
import { RABBITMQ_URL, withRabbit } from '../brokers/amqp/rabbit.js'
import { type TcpProxy, tcpProxy } from '../brokers/amqp/tcp-proxy.js'
import { ownCorner } from './processes.js'

const PUBLISH = [60, 40] as const
const never = new Promise<void>(() => {})

withRabbit('--timeout', () => {
  const { run } = ownCorner()
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
  ].map((typed) => [typed] as const)

  test.each(commands)('%j: no publication is read, as under an alarm', async (typed) => {
    proxy.before(...PUBLISH, () => never)
    const { code, stdout, stderr } = await run(...typed, '--timeout', '1s', '--broker', proxy.url)
    const unanswered = typed.includes('--wait') || typed[0] === 'control'
    expect({ code, stdout }).toEqual({ code: unanswered ? 5 : 4, stdout: '' })
    expect(stderr).toMatch(
      unanswered ? /^prefork: No (node )?answer(ed)? within 1 s[^\n]*\n$/ : /^prefork: RabbitMQ did not confirm the job within 1 s[^\n]*\n$/,
    )
  })

  test.each(commands)('%j: the peer is silent from the start', async (typed) => {
    proxy.freeze()
    const { code, stderr } = await run(...typed, '--timeout', '1s', '--broker', proxy.url)
    expect(stderr).toMatch(/^prefork: RabbitMQ at [^\n]* cannot be reached within 1 s\.[^\n]*\n$/)
    expect(code).toBe(4)
  })

  test.each(commands)('%j: nobody listens', async (typed) => {
    const { code, stderr } = await run(...typed, '--timeout', '300ms', '--broker', 'amqp://127.0.0.1:1')
    expect(stderr).toMatch(/^prefork: RabbitMQ at [^\n]* cannot be reached within 0\.3 s\.[^\n]*\n$/)
    expect(code).toBe(4)
  })
})

test('a close that lasts is left alone when the time is over, and one that fails is told', async () => {
  const deadline = new Deadline(1)
  await deadline.closing(never)
  await expect(deadline.closing(Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(deadline.left).toBe(1)
})

test('what comes in time is handed on; what does not is exit code 4', async () => {
  const deadline = new Deadline(50)
  expect(await deadline.bound(Promise.resolve('there'), 'late')).toBe('there')
  await expect(deadline.bound(Promise.reject(new RangeError('no')), 'late')).rejects.toThrow(RangeError)
  await expect(deadline.bound(never, 'it is late')).rejects.toMatchObject({ message: 'it is late', exitCode: 4 })
})
