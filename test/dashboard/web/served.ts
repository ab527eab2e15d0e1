import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { DeadLetterRecord, DeadLetters } from '../../../src/dashboard/model/dead-letters.js'
import { type FarmSource, LocalSource } from '../../../src/dashboard/model/farm-source.js'
import { WebDashboard } from '../../../src/dashboard/web/web-dashboard.js'
import { ScriptedNode } from '../../fixtures/scripted-node.js'

export const TOKEN = 'a-token-of-the-tests'

export const letterOf = (letter: Partial<DeadLetterRecord> = {}): DeadLetterRecord => ({
  ...{ id: 'dead-1', task: 'mail', queue: 'async_farm.jobs', reason: 'failed', error: 'Error: no', stack: 'Error: no\n    at mail (tasks.js:1:1)' },
  ...{ at: 1_700_000_000_000, node: 'alpha', attempt: 3, losses: 0, attempts: [], arguments: '[1]' },
  ...letter,
})

/** Dead letters in memory, which leave when they are retried. */
export const deadLettersIn = (letters: DeadLetterRecord[]): DeadLetters & { readonly retried: unknown[] } => {
  const retried: unknown[] = []
  return {
    retried,
    read: async (_, limit) => letters.slice(0, limit),
    async retry(_, ids) {
      const gone = letters.filter(({ id }) => ids === 'all' || ids.includes(id!))
      for (const letter of gone) letters.splice(letters.indexOf(letter), 1)
      retried.push(ids)
      return gone.length
    },
  }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A dashboard of a scripted node on a port of this machine; it ends with the test. */
export const serve = async ({
  node = new ScriptedNode(),
  source = new LocalSource(node) as FarmSource,
  letters = [] as DeadLetterRecord[],
  host = '127.0.0.1',
  opened = true,
} = {}) => {
  const reported: string[] = []
  const responses: ServerResponse[] = []
  const dashboard = new WebDashboard({ token: TOKEN, host, title: 'amqp://test', report: (text) => reported.push(text) })
  const dead = deadLettersIn(letters)
  const server = createServer((asked, response) => {
    responses.push(response)
    if (!dashboard.handle(asked, response)) response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const open = () => dashboard.open(source, dead)
  if (opened) await open()
  onTestFinished(async () => {
    await dashboard.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const ask = (path: string, { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path, method, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  /** As the page does. */
  const post = async (operation: string, fields: unknown) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const { status, body } = await ask(`/dashboard/api/${operation}`, { method: 'POST', headers, body: JSON.stringify(fields) })
    return { status, ...(JSON.parse(body) as { value?: unknown; error?: string }) }
  }
  /** Opens a stream, and collects its events. */
  const watch = (query = '') =>
    new Promise<{ status: number; events: [type: string, data: never][]; end(): void; ended: Promise<void>; pause(): void }>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path: `/dashboard/api/live?${query}`, headers: { authorization: `Bearer ${TOKEN}` }, agent: false })
      sent.on('error', reject)
      sent.on('response', (response) => {
        const events: [string, never][] = []
        let rest = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          const blocks = (rest + chunk).split('\n\n')
          rest = blocks.pop()!
          for (const block of blocks) {
            const [, type, data] = /^event: (\w+)\ndata: (.*)$/.exec(block)!
            events.push([type!, JSON.parse(data!) as never])
          }
        })
        sent.removeAllListeners('error').on('error', () => {})
        response.on('error', () => {})
        const ended = new Promise<void>((end) => response.once('close', end))
        resolve({ status: response.statusCode ?? 0, events, end: () => sent.destroy(), ended, pause: () => response.pause() })
      })
      sent.end()
    })
  return { node, dashboard, dead, reported, responses, port, ask, post, watch, open }
}
