/** What a pool of 4 idle workers costs over `seconds`: CPU of the host, resident memory of each worker. Prints one JSON line. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '../../dist/index.js'

const seconds = Number(process.argv[2] ?? 60)
const residentOf = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1_024

const measure = async (options) => {
  const pool = await createPool({ tasks: new URL('../tasks.js', import.meta.url), workers: 4, ...options })
  while (pool.stats().workers.filter(({ state }) => state === 'up').length < 4) await delay(50)
  await delay(2_000)
  const before = process.cpuUsage()
  await delay(seconds * 1_000)
  const { user, system } = process.cpuUsage(before)
  const resident = pool.stats().workers.map(({ pid }) => residentOf(pid))
  await pool.close()
  return { hostPercent: (user + system) / seconds / 10_000, workerMB: resident.reduce((sum, each) => sum + each, 0) / resident.length }
}

const bare = async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', "import 'msgpackr'; process.stdout.write('up'); setInterval(() => {}, 1e6)"], {
    cwd: import.meta.dirname,
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await delay(2_000)
  const resident = residentOf(child.pid)
  child.kill()
  return resident
}

const bareMB = await bare()
const withWatchdog = await measure({})
const without = await measure({ watchdog: false })
process.stdout.write(`${JSON.stringify({ seconds, bareMB, withWatchdog, without })}\n`)
