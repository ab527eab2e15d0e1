// A node on Faktory in a process of its own. Its options come as JSON.
import { createWorker } from 'prefork/faktory'

const tasks = new URL('../../fixtures/farm-tasks.js', import.meta.url)
const node = await createWorker({ ...JSON.parse(process.argv[2]), tasks })
process.once('SIGTERM', () => node.shutdown())
// The parent is gone.
process.once('disconnect', () => process.exit(1))
process.send({ up: true, workers: node.stats().workers.map(({ pid }) => pid) })
const report = await node.done
process.send({ report })
process.disconnect()
