/** A real server, started from the program that FAKTORY_BINARY names. It starts its own Redis, with its storage in a folder of the test's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import type { FaktoryServerOptions } from '../../fixtures/faktory-server/options.js'
import { until } from '../../fixtures/until.js'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

const run = (binary: string, port: number, folder: string, password: string | undefined) =>
  execa(binary, ['-e', 'development', '-b', `127.0.0.1:${port}`, '-w', ':0', '-d', join(folder, 'db'), '-c', join(folder, 'conf')], {
    reject: false,
    stdio: 'ignore',
    env: { FAKTORY_PASSWORD: password },
  })

export class RealServer {
  readonly url: string
  readonly #start: () => ReturnType<typeof run>
  readonly #folder: string
  readonly #port: number
  #child: ReturnType<typeof run>

  private constructor(url: string, port: number, folder: string, start: () => ReturnType<typeof run>) {
    this.url = url
    this.#port = port
    this.#folder = folder
    this.#start = start
    this.#child = start()
  }

  static async start(binary: string, { password, tls }: FaktoryServerOptions): Promise<RealServer> {
    // The path of its Redis' socket must be short.
    const folder = mkdtempSync(join(tmpdir(), 'fk-'))
    for (const name of ['db', 'conf']) mkdirSync(join(folder, name))
    if (tls !== undefined) {
      writeFileSync(join(folder, 'conf', 'public.cert.pem'), tls.cert)
      writeFileSync(join(folder, 'conf', 'private.key.pem'), tls.key)
    }
    const port = await freePort()
    const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`
    const url = `${tls === undefined ? 'tcp' : 'tcp+tls'}://${login}127.0.0.1:${port}`
    const server = new RealServer(url, port, folder, () => run(binary, port, folder, password))
    await server.#isUp()
    return server
  }

  async #isUp(): Promise<void> {
    await until('the server listens', () => isListening(this.#port))
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#child
  }

  async restart(): Promise<void> {
    await this.stop()
    this.#child = this.#start()
    await this.#isUp()
  }

  async kill(): Promise<void> {
    await this.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
