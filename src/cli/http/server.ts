import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { FarmNode } from '../../node/types.js'
import type { NodeStats } from '../../runtime/report/report.js'
import { type Listening, listen } from './listen.js'
import { Metrics } from './metrics.js'

export interface HttpServer extends Listening {
  /** From now on the responses are about this node; before, the node is starting. */
  attach(node: FarmNode): void
}

/** Other pages on the same port. `handle` returns false for a path that is none of theirs. */
export interface MorePages {
  handle(request: IncomingMessage, response: ServerResponse): boolean
}

type Page = [status: number, type: string, body: string]

const JSON_TYPE = 'application/json; charset=utf-8'
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Serves `/healthz`, `/readyz`, `/metrics`, and `more`. Rejects with CommandError when it cannot listen on the port. */
export const serveHttp = async (at: { port: number; host: string }, logger: Logger, more?: MorePages): Promise<HttpServer> => {
  const metrics = new Metrics()
  let node: FarmNode | undefined
  const page = (path: string): Page => {
    const stats = node?.stats()
    if (path === '/metrics') return [200, METRICS_TYPE, metrics.text(stats)]
    if (path !== '/healthz' && path !== '/readyz') return [404, JSON_TYPE, '{"error":"There are /healthz, /readyz and /metrics"}\n']
    const { ok, ...body } = path === '/healthz' ? liveness(stats) : readiness(stats)
    return [ok ? 200 : 503, JSON_TYPE, `${JSON.stringify(body)}\n`]
  }
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (more?.handle(request, response) === true) return
    const method = request.method ?? ''
    const [status, type, body] =
      method === 'GET' || method === 'HEAD'
        ? page((request.url ?? '/').split('?', 1)[0]!)
        : ([405, JSON_TYPE, '{"error":"GET and HEAD are all there is"}\n'] satisfies Page)
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' })
    response.end(method === 'HEAD' ? undefined : body)
    // The body of such a request is not read.
    if (status === 405) request.destroy()
  }
  const { port, close } = await listen(at, handle, (error) => logger.error({ err: error }, 'The HTTP server has a problem'))
  logger.info({ host: at.host, port }, 'Health and metrics are served')
  return {
    port,
    attach(given) {
      node = given
      metrics.watch(given)
    },
    close() {
      metrics.close()
      return close()
    },
  }
}

interface HealthStatus {
  ok: boolean
  status: string
  node?: string
  state?: NodeStats['state']
}

/** Whether the process may go on. A lost connection is no reason to restart it: that would not bring the broker back. */
export const liveness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: true, status: 'starting' }
  const { node, state } = stats
  return { ok: state !== 'stopped', status: state === 'stopped' ? 'stopped' : 'alive', node, state }
}

/** Whether the node takes jobs. */
export const readiness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: false, status: 'starting' }
  const { node, state, connected, scale } = stats
  const status = state !== 'running' ? state : !connected ? 'no connection to the broker' : scale.alive === 0 ? 'no worker is up' : 'ready'
  // A node that has scaled to no worker while no job waits is ready.
  const ok = status === 'ready' || (status === 'no worker is up' && scale.wanted === 0)
  return { ok, status: ok ? 'ready' : status, node, state }
}
