/** What a `ServerResponse` of Node has, and with it the `res` of Express and the `reply.raw` of Fastify. */
export interface ResponseLike {
  readonly writableFinished: boolean
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/**
 * A signal for the jobs of one request: it aborts when the client has gone before the response was sent, so that nobody's jobs do not fill the queue.
 * Pass it as the option `signal`. The reason is an `AbortError`. A `Request` of the web (Next.js) has such a signal itself.
 *
 * @param response the `ServerResponse` of node:http, `res` of Express, `reply.raw` of Fastify
 */
export const clientSignal = (response: ResponseLike): AbortSignal => {
  if (typeof response?.once !== 'function' || typeof response.writableFinished !== 'boolean')
    throw new TypeError("clientSignal wants the response: node:http's ServerResponse, Express's res, or Fastify's reply.raw.")
  const gone = new AbortController()
  const closed = (): void => {
    if (!response.writableFinished) gone.abort(new DOMException('The client has gone before the response was sent.', 'AbortError'))
  }
  if (response.destroyed) closed()
  else response.once('close', closed)
  return gone.signal
}
