// The servers of the peers. A peer whose server is not there takes no part.
import { once } from 'node:events'
import { connect } from 'node:net'

export const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'
export const POSTGRES_URL = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test'

export const SERVERS = {
  redis: { title: 'Redis', url: REDIS_URL, port: 6379, variable: 'REDIS_URL' },
  postgres: { title: 'PostgreSQL', url: POSTGRES_URL, port: 5432, variable: 'POSTGRES_URL' },
}

const LONGEST = 1_000

/** Why the server cannot be reached; undefined: it can. @param {keyof typeof SERVERS} name */
export const serverProblem = async (name) => {
  const { url, port } = SERVERS[name]
  const { hostname, port: given } = new URL(url)
  const socket = connect({ host: hostname, port: Number(given) || port })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(LONGEST) })
    return undefined
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error)
  } finally {
    socket.destroy()
  }
}
