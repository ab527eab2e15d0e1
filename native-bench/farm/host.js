// A consumer in this process, until SIGTERM: `node farm/host.js <node or client> <url> <queue> <queue type>`.
import './cpu.js'
import { HOSTED } from './consumers.js'

const [name = '', url = '', queue = '', queueType = 'quorum'] = process.argv.slice(2)
const open = HOSTED[name]
if (open === undefined) throw new Error(`no consumer ${name}`)
const close = await open({ url, queue, queueType })
process.once('SIGTERM', async () => {
  await close()
  process.exit(0)
})
