// How long the event loop of a host stands still when it replaces a worker: `node native-bench/large-host.js [GB,GB,...] [starts]`. It holds so much memory.
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { createPool } from '../dist/index.js'
import { quantile } from './lib/statistics.js'

const SIZES = '0,2,6'
const STARTS = 15
const PIECE = 256 * 1024 * 1024
/** ms. */
const CALM = 300
const self = fileURLToPath(import.meta.url)

/** The longest time between two turns of the event loop while `work` goes on, ms. @param {() => Promise<unknown>} work */
const longestTurn = async (work) => {
  let last = performance.now()
  let longest = 0
  let isOver = false
  const turn = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return longest
}

/** @param {string} launcher @param {number} bytes @param {number} starts */
const host = async (launcher, bytes, starts) => {
  const held = []
  // A pool is made while its host is small.
  const pool = await createPool({ tasks: new URL('./tasks.js', import.meta.url), workers: 1, launcher: launcher === 'process' ? 'process' : 'host' })
  for (let taken = 0; taken < bytes; taken += PIECE) held.push(Buffer.alloc(PIECE, 1))
  const turns = []
  for (let start = 0; start < starts; start++) {
    turns.push(await longestTurn(() => (launcher === 'none' ? sleep(CALM) : pool.restart())))
  }
  await pool.close()
  console.log(JSON.stringify({ turns, pieces: held.length }))
}

const main = async (sizes = SIZES, starts = String(STARTS)) => {
  console.log(`Node ${process.version}, ms that the host stood still at each of ${starts} starts: median, worst`)
  for (const gigabytes of sizes.split(',')) {
    for (const launcher of ['none', 'host', 'process']) {
      const { stdout } = await execa(process.execPath, [self, 'host', launcher, String(Number(gigabytes) * 4 * PIECE), starts], {
        env: { NODE_EXTRA_CA_CERTS: undefined },
      })
      const turns = /** @type {number[]} */ (JSON.parse(stdout).turns).sort((a, b) => a - b)
      const title = launcher === 'none' ? 'no start' : `launcher: '${launcher}'`
      console.log(
        `${gigabytes.padStart(2)} GB  ${title.padEnd(20)} ${quantile(turns, 0.5).toFixed(1).padStart(6)} ${quantile(turns, 1).toFixed(1).padStart(6)}`,
      )
    }
  }
}

const [first, launcher = '', bytes, starts] = process.argv.slice(2)
if (first === 'host') await host(launcher, Number(bytes), Number(starts))
else await main(first, launcher || undefined)
