import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LateStream } from '../../../../src/pool/worker/launch/late-stream.js'

/** Two ends of a connection. */
const pair = async (): Promise<[Socket, Socket]> => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const near = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [far] = (await accepted) as [Socket]
  server.close()
  onTestFinished(() => {
    near.destroy()
    far.destroy()
  })
  return [near, far]
}

const received = (socket: Socket, bytes: number): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (text.length >= bytes) resolve(text)
    })
  })

describe('a stream whose socket comes later', () => {
  it('writes what was written before, in order, as it was then', async () => {
    const stream = new LateStream()
    const buffer = Buffer.from('one ')
    expect(stream.write(buffer)).toBe(true)
    buffer.fill('x')
    stream.cork()
    stream.write(Buffer.from('two '))
    stream.uncork()
    expect(stream.writableLength).toBe(8)
    const [near, far] = await pair()
    stream.attach(near)
    stream.write(Buffer.from('three'))
    expect(await received(far, 13)).toBe('one two three')
  })

  it('gives what arrives to the listeners of before, and its end', async () => {
    const stream = new LateStream()
    const chunks: string[] = []
    const ended = new Promise<void>((resolve) => void stream.on('end', resolve))
    const closed = new Promise<void>((resolve) => void stream.on('close', resolve))
    stream.on('data', (chunk: Buffer) => chunks.push(String(chunk)))
    const [near, far] = await pair()
    far.end('hello')
    stream.attach(near)
    await Promise.all([ended, closed])
    expect(chunks.join('')).toBe('hello')
  })

  it('stays paused when it was paused before', async () => {
    const stream = new LateStream()
    const chunks: string[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(String(chunk)))
    stream.pause()
    const [near, far] = await pair()
    stream.attach(near)
    expect(near.isPaused()).toBe(true)
    far.write('hello')
    const arrives = received(near, 5)
    near.pause()
    stream.resume()
    expect(await arrives).toBe('hello')
    expect(chunks).toEqual(['hello'])
  })

  it('closes when its socket will not come, and takes none afterwards', async () => {
    const stream = new LateStream()
    let closes = 0
    stream.on('close', () => closes++)
    stream.end()
    stream.end()
    expect(closes).toBe(1)
    expect(stream.write(Buffer.from('lost'))).toBe(true)
    const [near, far] = await pair()
    const ends = once(far, 'close')
    far.resume()
    stream.attach(near)
    await ends
    expect(near.destroyed).toBe(true)
  })

  it('destroys a socket that comes too late', async () => {
    const stream = new LateStream()
    stream.destroy()
    const [near] = await pair()
    stream.attach(near)
    expect(near.destroyed).toBe(true)
  })
})
