// The cost of an idle node: `node native-bench/farm/idle.js [seconds]`. CPU and memory of `prefork work` with one worker, together and each
// alone. For comparison: a process with one timer a second, as on some machines each wake-up is most of the cost.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from 'amqplib'
import { execa } from 'execa'
import { childrenOf, cpuMs, memoryMB } from '../lib/processes.js'
import { BROKER_URL } from './queue.js'

const SECONDS = Number(process.argv[2] ?? 60)
/** Time for the start and the first garbage collections, ms. */
const SETTLE_MS = 10_000

const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url))

const queue = `prefork.bench.${randomBytes(6).toString('hex')}`
const names = ['--queue', queue, '--control-exchange', `${queue}.control`, '--worker-exchange', `${queue}.events`]
const node = execa(
  process.execPath,
  [path('../../dist/cli/prefork.js'), 'work', '--tasks', path('../tasks.js'), '--broker', BROKER_URL, '--workers', '1', ...names],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
    reject: false,
    killSignal: 'SIGKILL',
  },
)
const timer = execa(process.execPath, ['--eval', 'setInterval(() => {}, 1_000)'], { stdio: 'inherit', reject: false })
try {
  await sleep(SETTLE_MS)
  const of = { node: [node.pid ?? 0], worker: childrenOf(node.pid ?? 0), 'a timer alone': [timer.pid ?? 0] }
  if (of.worker.length !== 1) throw new Error(`the node has ${of.worker.length} children`)
  const cpu = () => Object.values(of).map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0))
  const before = cpu()
  const began = performance.now()
  await sleep(SECONDS * 1_000)
  const ms = performance.now() - began
  const after = cpu()
  const rows = Object.entries(of).map(([name, pids], index) => ({
    name,
    percent: (100 * ((after[index] ?? 0) - (before[index] ?? 0))) / ms,
    pssMB: pids.reduce((sum, pid) => sum + memoryMB(pid, 'Pss'), 0),
    residentMB: pids.reduce((sum, pid) => sum + memoryMB(pid, 'Rss'), 0),
  }))
  const [own, worker] = rows
  if (own !== undefined && worker !== undefined)
    rows.push({
      name: 'node and worker',
      percent: own.percent + worker.percent,
      pssMB: own.pssMB + worker.pssMB,
      residentMB: own.residentMB + worker.residentMB,
    })
  for (const { name, percent, pssMB, residentMB } of rows)
    console.log(`${name.padEnd(16)} ${percent.toFixed(2)} % of a core, ${pssMB.toFixed(1)} MB PSS, ${residentMB.toFixed(1)} MB resident`)
} finally {
  timer.kill('SIGKILL')
  node.kill('SIGTERM')
  await node
  const connection = await connect(BROKER_URL)
  const channel = await connection.createChannel()
  for (const each of [queue, `${queue}.dlq`]) await channel.deleteQueue(each)
  for (const each of ['control', 'events']) await channel.deleteExchange(`${queue}.${each}`)
  await connection.close()
}
