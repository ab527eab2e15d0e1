import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import { FD_JOBS } from '../../wire/messages.js'

const READ_BYTES = 64 * 1024

/** Reads the jobs pipe from the start and always: QUIT and PULL never wait behind a job. `receive` is called out of the native read callback. */
export const readJobs = (receive: (chunk: Buffer) => void): void => {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  // Past the stream layer: one buffer for all reads, and no chunk to allocate.
  const onread: OnReadOpts = {
    buffer,
    callback: (size) => {
      receive(size === buffer.length ? buffer : buffer.subarray(0, size))
      return true
    },
  }
  // (The types know `onread` only where a socket connects.)
  const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd: FD_JOBS, readable: true, writable: false, onread }
  const socket = new Socket(options)
  // The end of this pipe means nothing: the lifeline decides when to leave. Until then something must keep the process.
  socket.on('error', () => {})
  socket.on('close', () => setInterval(() => {}, 2 ** 30))
}
