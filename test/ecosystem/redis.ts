/** The Redis of these tests: each has a prefix of its own, whose keys are removed afterwards. Without a Redis the suites are skipped with a warning. */
import { randomBytes } from 'node:crypto'
import { createConnection } from 'node:net'
import { describe, onTestFinished } from 'vitest'

const HOST = '127.0.0.1'
const PORT = 6379

/** One command, by the inline form of the protocol. Undefined: nobody answers. */
const ping = (): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: HOST, port: PORT, timeout: 5_000 }, () => socket.write('PING\r\n'))
    const end = (answer?: string): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (bytes) => end(bytes.toString('latin1')))
    socket.once('error', () => end())
    socket.once('timeout', () => end())
  })

const reachable = (await ping()) === '+PONG\r\n'
if (!reachable && process.env.REQUIRE_BROKER === '1') throw new Error(`REQUIRE_BROKER=1, and there is no Redis at ${HOST}:${PORT}`)
if (!reachable) console.warn(`SKIPPED: what prefork does beside BullMQ, because there is no Redis at ${HOST}:${PORT}`)

/** `describe` for suites that need Redis. */
export const withRedis = describe.skipIf(!reachable)

interface Client {
  scanStream(options: { match: string; count: number }): AsyncIterable<string[]>
  del(keys: string[]): Promise<number>
  quit(): Promise<unknown>
}

/** The class `Redis` of the installed ioredis. */
export type RedisClass = new (options: { host: string; port: number }) => Client

/** Options of BullMQ with a prefix of their own, until the test has finished. */
export const ownPrefix = (Redis: RedisClass) => {
  const prefix = `test-${randomBytes(6).toString('hex')}`
  onTestFinished(async () => {
    const redis = new Redis({ host: HOST, port: PORT })
    for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) if (keys.length > 0) await redis.del(keys)
    await redis.quit()
  })
  return { connection: { host: HOST, port: PORT }, prefix }
}
