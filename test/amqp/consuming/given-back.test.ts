import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { ReconnectingConnection } from '../../../src/amqp/connection/reconnecting-connection.js'
import { GivenBackJobs } from '../../../src/amqp/consuming/given-back.js'
import { deferred } from '../../../src/util/with-timeout.js'
import { fakeTime } from '../../fixtures/fake-time.js'

const setUp = () => {
  // It is never opened: the test says what RabbitMQ would.
  const connection = new ReconnectingConnection({ url: 'amqp://127.0.0.1:1/', connectTimeout: 1_000, tls: undefined } as never, 'test')
  const log: string[] = []
  const jobs = new GivenBackJobs(connection)
  const confirms: ReturnType<typeof deferred<void>>[] = []
  const giveBack = (id: string, gone = new AbortController().signal): void => {
    const job = {
      gone,
      publish: () => {
        log.push(`publish ${id}`)
        const confirm = deferred<void>()
        confirms.push(confirm)
        return confirm.promise
      },
      acknowledge: () => log.push(`acknowledge ${id}`) > 0,
      deliverAgain: () => void log.push(`deliver ${id}`),
    }
    jobs.giveBack(job).then(
      (stored) => log.push(`${stored ? 'stored' : 'kept'} ${id}`),
      () => log.push(`refused ${id}`),
    )
  }
  const said = async (): Promise<string[]> => {
    await turn()
    return log.splice(0)
  }
  return { connection, jobs, confirms, giveBack, said }
}

describe('jobs that are given back', () => {
  it('are published: the first alone, as it shows whether there is an alarm', async () => {
    const { confirms, giveBack, said } = setUp()
    for (const id of ['a', 'b', 'c']) giveBack(id)
    expect(await said()).toEqual(['publish a'])
    confirms[0]!.resolve()
    expect((await said()).sort()).toEqual(['publish b', 'publish c', 'stored a'])
    confirms[1]!.reject(new Error('refused'))
    confirms[2]!.resolve()
    expect(await said()).toEqual(['refused b', 'stored c'])
  })

  it('are kept during an alarm, but for the first, and delivered when the node takes jobs', async () => {
    const { connection, jobs, confirms, giveBack, said } = setUp()
    jobs.pause()
    for (const id of ['a', 'b']) giveBack(id)
    expect(await said()).toEqual(['publish a'])
    connection.emit('blocked', 'low on memory')
    giveBack('c')
    const gone = new AbortController()
    giveBack('gone', gone.signal)
    gone.abort()
    expect((await said()).sort()).toEqual(['kept b', 'kept c', 'kept gone'])
    jobs.resume()
    jobs.resume()
    expect((await said()).sort()).toEqual(['deliver b', 'deliver c'])
    confirms[0]!.resolve()
    expect(await said()).toEqual(['stored a'])
  })

  it.each(['unblocked', 'down'] as const)('are published after the alarm (%s) where the node takes no jobs', async (event) => {
    const { connection, jobs, confirms, giveBack, said } = setUp()
    jobs.pause()
    connection.emit('blocked', 'low on memory')
    giveBack('a')
    expect(await said()).toEqual(['kept a'])
    if (event === 'unblocked') connection.emit('unblocked')
    else connection.emit('down', new Error('lost'))
    expect(await said()).toEqual(['publish a'])
    confirms[0]!.resolve()
    expect(await said()).toEqual(['acknowledge a'])
    jobs.resume()
    expect(await said()).toEqual([])
  })

  it('are delivered after a moment where the node takes jobs all the time', async () => {
    fakeTime('setTimeout', 'clearTimeout')
    const { connection, giveBack, said } = setUp()
    connection.emit('blocked', 'low on memory')
    giveBack('a')
    expect(await said()).toEqual(['kept a'])
    vi.advanceTimersByTime(1_000)
    expect(await said()).toEqual(['deliver a'])
  })
})
