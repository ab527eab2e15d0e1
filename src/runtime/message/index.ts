import type { JobHeaders } from '../delivery.js'

export interface JobMessage {
  task: string
  args: unknown[]
  kwargs?: Record<string, unknown>
  context?: unknown
}

export class UndecodableError extends Error {}
UndecodableError.prototype.name = 'UndecodableError'

export const encodeJob = (message: JobMessage): Buffer => Buffer.from(JSON.stringify(message))

export const decodeJob = (body: Buffer, _headers: JobHeaders, limits: { maxBodySize: number }): JobMessage => {
  if (body.length > limits.maxBodySize) throw new UndecodableError('too large')
  try {
    return JSON.parse(body.toString('utf8')) as JobMessage
  } catch (cause) {
    throw new UndecodableError('not JSON', { cause })
  }
}

export const encodeReply = (outcome: { ok: true; value: unknown } | { ok: false; error: unknown }): Buffer => {
  return Buffer.from(JSON.stringify(outcome.ok ? outcome : { ok: false, error: { message: (outcome.error as Error).message } }))
}
