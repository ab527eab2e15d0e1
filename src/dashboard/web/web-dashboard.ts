import type { IncomingMessage, ServerResponse } from 'node:http'
import { DeadLetterList, type DeadLetters } from '../model/dead-letters.js'
import type { FarmSource } from '../model/farm-source.js'
import { LiveFarm } from '../model/live-farm.js'
import { Access, type Refusal } from './access.js'
import { farmHistory, farmState, readViewQuery, SLOT_SECONDS, type ViewQuery } from './farm-state.js'
import { LiveClients, type LiveView, MAX_CLIENTS } from './live-clients.js'
import { BadRequest, Operations } from './operations.js'
import { PageFiles, SECURITY_HEADERS } from './page-files.js'

export { newToken } from './access.js'

/** Bytes of the body of a request. */
const MAX_BODY = 16_384
/** ms between two histories: a slot of it is as long. */
const HISTORY_INTERVAL = SLOT_SECONDS * 1_000

export interface WebDashboardOptions {
  /** Whoever has it may read and change the farm. */
  readonly token: string
  /** The name or address that the server listens on. */
  readonly host: string
  /** What the page says that it shows: the broker, without a password. */
  readonly title: string
  /** Gets a line for each change that the page makes. */
  report(text: string): void
}

interface Farm {
  readonly live: LiveFarm
  /** When it was opened, ms since the epoch. */
  readonly since: number
  readonly operations: Operations
}

/** The dashboard for browsers: its files, a stream of states, and what an operator does with the farm. It has no port: a server passes it requests. */
export class WebDashboard {
  readonly #options: WebDashboardOptions
  readonly #access: Access
  readonly #files = new PageFiles()
  readonly #clients = new LiveClients()
  #farm: Farm | undefined

  constructor(options: WebDashboardOptions) {
    this.#options = options
    this.#access = new Access(options)
  }

  /** Shows the nodes of this source from now on. Before, the page says that they are starting. */
  async open(source: FarmSource, deadLetters: DeadLetters): Promise<void> {
    const live = new LiveFarm(source)
    await live.open(() => {})
    this.#farm = { live, since: live.now(), operations: new Operations(live, new DeadLetterList(deadLetters, live), this.#options.report) }
  }

  /** Answers a request for the page or its data. False: the path is none of the dashboard's. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2)
    const operation = /^\/dashboard\/api\/([a-z]+)$/.exec(path)?.[1]
    if (operation === undefined && !this.#files.has(path)) return false
    const refusal = this.#refusal(request, operation)
    if (refusal !== undefined) refuse(response, refusal)
    else if (operation === undefined) this.#files.send(path, response, { head: request.method === 'HEAD' })
    else if (this.#farm === undefined) refuse(response, [503, 'The node is starting.'])
    else if (operation === 'live') this.#stream(this.#farm, readViewQuery(new URLSearchParams(query)), response)
    else void this.#run(this.#farm.operations, operation, request, response)
    return true
  }

  async close(): Promise<void> {
    this.#clients.close()
    await this.#farm?.live.close()
  }

  #refusal(request: IncomingMessage, operation: string | undefined): Refusal | undefined {
    const { method, headers } = request
    const refusal = this.#access.refuse(request) ?? (operation === undefined ? undefined : this.#access.refuseUnknown(request))
    if (refusal !== undefined) return refusal
    if (operation === undefined) return method === 'GET' || method === 'HEAD' ? undefined : [405, 'GET and HEAD are all there is.']
    if (operation === 'live') return method === 'GET' ? undefined : [405, 'The stream is for GET.']
    if (method !== 'POST') return [405, 'Operations are for POST.']
    // A form of another site cannot send this type.
    return /^application\/json(?:;|$)/i.test(headers['content-type'] ?? '') ? undefined : [415, 'The body must be application/json.']
  }

  #stream(farm: Farm, query: ViewQuery, response: ServerResponse): void {
    if (this.#clients.full) {
      refuse(response, [503, `${MAX_CLIENTS} pages are open already: close one.`])
      return
    }
    response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
    this.#clients.add(response, this.#view(farm, query))
  }

  #view({ live, since }: Farm, query: ViewQuery): LiveView {
    const { title } = this.#options
    return {
      state: () => JSON.stringify({ title, ...farmState(live.model, query, live.now()) }),
      history(after) {
        const number = Math.floor(live.now() / HISTORY_INTERVAL)
        return number === after ? undefined : { number, json: JSON.stringify(farmHistory(live.model, since, live.now())) }
      },
    }
  }

  async #run(operations: Operations, operation: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      sendJson(response, 200, { value: await operations.run(operation, await readJson(request)) })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // 502: a node or the broker has refused, or does not answer.
      if (error instanceof BadRequest) refuse(response, [400, reason])
      else sendJson(response, 502, { error: reason })
    }
  }
}

const sendJson = (response: ServerResponse, status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  if (response.destroyed || response.headersSent) return
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers, 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
  response.end(body)
}

/** The rest of such a request is not read. */
const refuse = (response: ServerResponse, [status, error]: Refusal): void => sendJson(response, status, { error }, { connection: 'close' })

const readJson = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) throw new BadRequest(`The body is larger than ${MAX_BODY} bytes.`)
    chunks.push(chunk)
  }
  try {
    const value = JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // The refusal below is for both.
  }
  throw new BadRequest('The body must be a JSON object.')
}
