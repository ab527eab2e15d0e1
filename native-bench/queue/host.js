// A node in a process of its own, until SIGTERM: `node host.js <file> <outstanding>`.
import { startNode } from './variants/node.js'

const [file = '', outstanding = ''] = process.argv.slice(2)
const node = await startNode(file, Number(outstanding))
process.once('SIGTERM', async () => {
  await node.shutdown()
  process.exit(0)
})
process.send?.('up')
