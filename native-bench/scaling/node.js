// The node under test, in a process of its own, until SIGTERM: `node node.js <NodePlan as JSON>`. It answers `{ id, ended, alive }` when it has reached that.

/** @import { Awaited, NodePlan, Report } from './types.js' */

const POLL_MS = 20

/** @type {{ dist: string, kind: string, options: object, events: boolean }} */
const { dist, kind, options, events } = /** @type {NodePlan} */ (JSON.parse(process.argv[2] ?? '{}'))
/** @type {(Awaited & { id: number })[]} */
let asked = []
// Before the node is up: it may be asked by then.
process.on('message', (message) => asked.push(/** @type {Awaited & { id: number }} */ (message)))

const { createWorker } = await import(`${dist}/${kind}/index.js`)
const node = await createWorker({ ...options, tasks: new URL('tasks.js', import.meta.url) })
const upAt = Number(process.hrtime.bigint()) / 1e6
let overLimit = 0
let most = 0
if (events)
  node.onEvent((/** @type {{ type: string }} */ { type }) => {
    if (type === 'task.hard_timeout') overLimit++
  })

/** @returns {Report} */
const reportNow = () => {
  const { totals, scale, workers } = node.stats()
  const { user, system } = process.cpuUsage()
  most = Math.max(most, scale.alive)
  const pids = workers.flatMap((/** @type {{ pid: number | undefined }} */ { pid }) => pid ?? [])
  return { at: Number(process.hrtime.bigint()) / 1e6, ended: totals.succeeded + overLimit, micros: user + system, alive: scale.alive, most, overLimit, pids }
}

setInterval(() => {
  const report = reportNow()
  asked = asked.filter(({ id, ended = 0, alive = 0 }) => {
    if (report.ended < ended || report.alive < alive) return true
    process.send?.({ id, report, upAt })
    return false
  })
}, POLL_MS)

process.once('SIGTERM', async () => {
  await node.shutdown()
  process.exit(0)
})
