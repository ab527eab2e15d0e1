/** The example of the queue: a server whose uploads outlive every process of it. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { afterEach, describe, expect, it } from 'vitest'
import { childrenOf, gone } from '../fixtures/support.js'
import { until } from '../fixtures/until.js'
import { hasSqlite } from '../queue/store/sqlite/files.js'
import { root } from './document.js'

interface Picture {
  readonly id: string
  readonly state: string
  readonly error?: string
}

const SERVER = join(root, 'docs/examples/queue/server.js')
const OPTIONS = { extendEnv: false, reject: false, killSignal: 'SIGKILL', all: true } as const

describe('the example of the queue', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  const running: { url: string; pids: number[] }[] = []

  const launch = () => execa(process.execPath, [SERVER], { ...OPTIONS, env: { PATH: process.env.PATH, DATA: folder, PORT: '0' } })

  const start = async (): Promise<{ url: string; pids: number[] }> => {
    const server = launch()
    let said = ''
    server.all.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const url = await until('the server has said its address', () => {
      if (server.exitCode !== null) throw new Error(`the server ended: ${said}`)
      return /http:\S+/.exec(said)?.[0]
    })
    const each = { url, pids: [server.pid!, ...childrenOf(server.pid!).map(({ pid }) => pid)] }
    running.push(each)
    return each
  }

  const kill = async ({ pids }: { pids: number[] }): Promise<void> => {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It is gone already.
      }
    }
    await gone(pids)
  }

  const post = async (url: string, path: string, body?: Uint8Array<ArrayBuffer>): Promise<string> => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'x-demo': '1' }, ...(body && { body }) })
    const answer = (await response.json()) as { id: string }
    expect(response.status).toBe(201)
    return answer.id
  }

  const list = async (url: string): Promise<Picture[]> => (await (await fetch(`${url}/pictures`)).json()) as Picture[]

  /** What the page is told from now on, until it has been told `last`. */
  const toldUntil = async (url: string, last: (text: string) => boolean): Promise<string> => {
    const end = new AbortController()
    const response = await fetch(`${url}/live`, { signal: end.signal })
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true })
      if (last(text)) break
    }
    end.abort()
    return text
  }

  afterEach(async () => {
    for (const each of running) await kill(each)
    rmSync(folder, { recursive: true, force: true })
  })

  it.skipIf(hasSqlite)('says which Node it needs', async () => {
    expect(await launch()).toMatchObject({ exitCode: 1, all: expect.stringContaining('needs Node 22.13 or later') })
  })

  it.skipIf(!hasSqlite)('keeps every upload that it has answered, whatever is killed', { timeout: 240_000 }, async () => {
    let server = await start()
    const [first] = await list(server.url)
    if (first === undefined) throw new Error('the first start paints no picture')
    const painted = await post(server.url, '/paint')
    const fileOf = (id: string, width: number): Promise<Response> => fetch(`${server.url}/pictures/${id}/${width}`)
    await until('a picture is painted', async () => (await list(server.url)).some(({ id, state }) => id === painted && state === 'completed'), 60_000)
    const picture = new Uint8Array(await (await fileOf(painted, 640)).arrayBuffer())

    const live = await post(server.url, '/paint')
    const wanted = new RegExp(`"id":"${live}","state":"completed"`)
    expect(await toldUntil(server.url, (text) => wanted.test(text))).toMatch(/^retry: 500\n\n/)

    const answered: string[] = [first.id, painted, live]
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 4; n++) answered.push(await post(server.url, n === 0 ? '/paint' : '/pictures', n === 0 ? undefined : picture))
      // Some of them run at this moment, some wait.
      await until('one of them runs', async () => (await list(server.url)).some(({ state }) => ['active', 'painting'].includes(state)))
      await sleep(50 * round)
      await kill(server)
      server = await start()
    }
    const broken = await post(server.url, '/pictures', new Uint8Array([1, 2, 3]))

    const ended = await until(
      'every picture has ended',
      async () => {
        const pictures = await list(server.url)
        return pictures.every(({ state }) => ['completed', 'failed'].includes(state)) ? pictures : undefined
      },
      120_000,
    )
    expect(ended.map(({ id }) => id).toSorted()).toEqual([...answered, broken].toSorted())
    expect(ended.filter(({ state }) => state === 'failed')).toMatchObject([{ id: broken, error: 'the picture cannot be decoded' }])
    for (const id of answered) {
      for (const width of [640, 320, 160]) {
        const response = await fileOf(id, width)
        expect(response.headers.get('content-type')).toBe('image/jpeg')
        expect(new Uint8Array(await response.arrayBuffer()).subarray(0, 2)).toEqual(new Uint8Array([0xff, 0xd8]))
      }
    }
    expect(readdirSync(join(folder, 'results')).filter((name) => name.endsWith('.jpg'))).toHaveLength(answered.length * 3)
  })
})
