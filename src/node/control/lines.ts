import type { Socket } from 'node:net'

const NEWLINE = 10

/** Chunks of a line that are kept apart, at most: each costs more than its bytes, and a sender may write one byte at a time. */
const MAX_CHUNKS = 1_000

/** Calls `receive` with each line that arrives. `tooLong` is called once, when a line has more than `max` bytes, and nothing is received after it. */
export const readLines = (socket: Socket, max: number, receive: (line: string) => void, tooLong: () => void): void => {
  let chunks: Buffer[] = []
  let length = 0
  let isOver = false
  socket.on('data', (chunk: Buffer) => {
    for (let rest = chunk; rest.length > 0 && !isOver && !socket.destroyed; ) {
      const end = rest.indexOf(NEWLINE)
      const part = end === -1 ? rest : rest.subarray(0, end)
      length += part.length
      if (length > max) {
        isOver = true
        chunks = []
        tooLong()
        return
      }
      chunks.push(part)
      if (end === -1) {
        if (chunks.length > MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
        return
      }
      const line = Buffer.concat(chunks).toString('utf8')
      chunks = []
      length = 0
      rest = rest.subarray(end + 1)
      receive(line)
    }
  })
}
