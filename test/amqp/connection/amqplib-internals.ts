/** Parts of amqplib that its package does not export, by their path. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const part = (name: string): unknown => require(join(dirname(require.resolve('amqplib')), 'lib', name))

export const { Connection } = part('connection') as { Connection: { prototype: object } }
export const { ConfirmChannel } = part('channel_model') as { ConfirmChannel: { prototype: object } }
export const { makeBodyFrame } = part('frame') as { makeBodyFrame(channel: number, body: Buffer): Buffer }
export const defs = part('defs') as {
  BasicDeliver: number
  BasicAck: number
  BasicProperties: number
  encodeMethod(id: number, channel: number, fields: object): Buffer
  encodeProperties(id: number, channel: number, size: number, fields: object): Buffer
}
