// Helpers of the routes: request bodies, responses, and errors as statuses.

export class HttpError extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

// prefork's errors have stable codes: match on the code, not on the message.
const STATUS = {
  ERR_PREFORK_QUEUE_FULL: 503,
  ERR_PREFORK_POOL_CLOSED: 503,
  ERR_PREFORK_WORKER_START: 503,
  ERR_PREFORK_WORKER_LOST: 502,
  ERR_PREFORK_TIME_LIMIT: 504,
  ERR_PREFORK_SOFT_TIME_LIMIT: 504,
  ERR_PREFORK_MEMORY_LIMIT: 507,
  ERR_BAD_IMAGE: 422,
}

export function statusOf(error) {
  return error.status ?? STATUS[error.code] ?? 500
}

export function describe(error) {
  const { name, code, message, taskStack } = error instanceof Error ? error : new Error(String(error))
  return { name, code, message, taskStack: taskStack || undefined }
}

export function sendJson(res, status, value) {
  send(res, status, { 'content-type': 'application/json; charset=utf-8' }, `${JSON.stringify(value, null, 2)}\n`)
}

export function send(res, status, headers, body) {
  if (res.destroyed || res.headersSent) return
  res.writeHead(status, { 'cache-control': 'no-store', 'content-length': Buffer.byteLength(body), ...headers })
  res.end(body)
}

export function sendError(res, error) {
  const status = statusOf(error)
  if (status === 503) res.setHeader('retry-after', '1')
  // The rest of a body that is too large is not read.
  if (status === 413) res.setHeader('connection', 'close')
  sendJson(res, status, { status, error: describe(error) })
}

export async function readBody(req, limit) {
  const tooLarge = () => new HttpError(413, `the body is larger than ${limit} bytes`)
  if (Number(req.headers['content-length']) > limit) throw tooLarge()
  const chunks = []
  let size = 0
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > limit) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A whole number from the query string. */
export function numberParam(url, name, fallback, min, max) {
  const text = url.searchParams.get(name)
  if (text === null) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) throw new HttpError(400, `${name} must be a whole number from ${min} to ${max}`)
  return value
}
