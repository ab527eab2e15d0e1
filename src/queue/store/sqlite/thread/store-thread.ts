/** The entry of the thread that has the connection to a file. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemTime, type TimeSource } from '../database/clock.js'
import { silenceSqliteWarning } from '../database/node-sqlite.js'
import type { PackedCompletion, Request, ThreadData, ToHost } from '../protocol.js'
import { failureOf } from './conditions.js'
import { openFile } from './open-file.js'
import { StoreServer } from './store-server.js'

const data = workerData as ThreadData
const port = parentPort!

const timeOf = ({ wallOffset }: ThreadData): TimeSource => {
  const time = systemTime()
  return wallOffset === undefined ? time : { ...time, wall: () => Date.now() + wallOffset[0]! }
}

const start = (): void => {
  silenceSqliteWarning()
  const server = new StoreServer(openFile(data.path, data.exclusive), data, timeOf(data), port)
  port.on('message', (requests: readonly (Request | PackedCompletion)[]) => server.receive(requests))
  server.start(() => port.close())
}

const post = (message: ToHost): void => port.postMessage(message)

try {
  start()
  post({ opened: true })
} catch (error) {
  post({ opened: failureOf(error) })
}
