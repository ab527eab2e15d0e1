/** A RabbitMQ of a test's own, for restarts, alarms, a consumer_timeout of 3 s and a max_message_size of 64 KiB. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { connect } from 'amqplib'
import { execa, type ResultPromise } from 'execa'
import { until } from '../fixtures/until.js'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

export interface PrivateBroker {
  readonly url: string
  restart(): Promise<void>
  /** Runs rabbitmqctl. */
  ctl(...args: string[]): Promise<void>
  /** Raises the alarm of memory, or ends it. Resolves when RabbitMQ holds back publishers, or no longer does. */
  alarm(raised: boolean): Promise<void>
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

const PROCESS = { extendEnv: false, stdin: 'ignore', detached: true, reject: false, buffer: false } as const

/** A port may be taken between its choice and its use: then the start is tried again. */
const TRIES = 3

export interface PrivateBrokerOptions {
  /** ms that a delivery may be held. Default 3,000. */
  readonly consumerTimeout?: number
}

/** Publishes a message that no queue takes. RabbitMQ says `blocked` to a publisher that it holds back, and confirms to others. */
const holdsBackPublishers = async (url: string): Promise<boolean> => {
  const connection = await connect(url)
  connection.on('error', () => {})
  try {
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    return await new Promise<boolean>((resolve) => {
      connection.on('blocked', () => resolve(true))
      channel.publish('', 'no-queue-of-this-name', Buffer.alloc(0), {}, () => resolve(false))
    })
  } finally {
    // A connection that is held back would not answer a close.
    ;(connection.connection as unknown as { stream: Socket }).stream.destroy()
  }
}

export const privateBroker = async (binary: string, options: PrivateBrokerOptions = {}): Promise<PrivateBroker> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startBroker(binary, options)
    } catch (error) {
      if (attempt === TRIES) throw error
    }
  }
}

const startBroker = async (binary: string, { consumerTimeout = 3_000 }: PrivateBrokerOptions): Promise<PrivateBroker> => {
  const home = mkdtempSync(join(tmpdir(), 'prefork-rabbit-'))
  const port = await freePort()
  const url = `amqp://guest:guest@127.0.0.1:${port}/`
  writeFileSync(join(home, 'rabbitmq.conf'), `listeners.tcp.local = 127.0.0.1:${port}\n`)
  writeFileSync(join(home, 'advanced.config'), `[{rabbit,[{channel_tick_interval,1000},{consumer_timeout,${consumerTimeout}},{max_message_size,65536}]}].\n`)
  writeFileSync(join(home, 'enabled_plugins'), '[].\n')
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: `prefork-${randomBytes(4).toString('hex')}@localhost`,
    RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(home, 'advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(home, 'data'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_DIST_PORT: String(await freePort()),
    RABBITMQ_PID_FILE: join(home, 'pid'),
  }
  let child: ResultPromise<typeof PROCESS> | undefined
  let output = ''
  const kill = (signal: NodeJS.Signals): void => {
    try {
      // The process group: the script, the Erlang VM and its children.
      if (child?.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // It has exited already.
    }
  }
  const onExit = (): void => {
    kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
  process.once('exit', onExit)

  const start = async (): Promise<void> => {
    const started = execa(binary, { ...PROCESS, env })
    child = started
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (chunk) => (output = (output + String(chunk)).slice(-4_000)))
    await until(
      `the private broker answers; its output:\n${output}`,
      async () => {
        if (started.exitCode !== null) throw new Error(`the private broker ended with ${started.exitCode}:\n${output}`)
        return connect(url, { timeout: 2_000 }).then(
          (connection) => connection.close().then(() => true),
          () => false,
        )
      },
      60_000,
    )
  }
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null) return
    kill('SIGTERM')
    const timer = setTimeout(() => kill('SIGKILL'), 15_000)
    await child
    clearTimeout(timer)
  }
  const remove = async (): Promise<void> => {
    await stop()
    process.off('exit', onExit)
    rmSync(home, { recursive: true, force: true })
  }
  const ctl = async (...args: string[]): Promise<void> => {
    await execa(join(dirname(binary), 'rabbitmqctl'), args, { extendEnv: false, env })
  }
  const alarm = async (raised: boolean): Promise<void> => {
    await ctl('set_vm_memory_high_watermark', raised ? '0.0001' : '0.8')
    await until(`the alarm is ${raised ? 'raised' : 'over'}`, async () => (await holdsBackPublishers(url)) === raised, 60_000)
  }
  try {
    await start()
  } catch (error) {
    kill('SIGKILL')
    await remove()
    throw error
  }
  return {
    url,
    restart: async () => {
      await stop()
      await start()
    },
    ctl,
    alarm,
    remove,
  }
}
