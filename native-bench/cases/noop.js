/** Jobs per second of a task that does nothing, `outstanding` at a time. Prints one JSON line. */
const [name, workers = '2', outstanding = '128', seconds = '2'] = process.argv.slice(2)
const { open } = await import(`../pools/${name}.js`)
const pool = await open({ workers: Number(workers) })

const run = async (ms) => {
  const end = performance.now() + ms
  let done = 0
  const caller = async () => {
    while (performance.now() < end) {
      await pool.noop()
      done++
    }
  }
  const start = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(Array.from({ length: Number(outstanding) }, caller))
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: done / ((performance.now() - start) / 1_000), hostMicrosPerJob: (user + system) / done }
}

await run(500)
const result = await run(Number(seconds) * 1_000)
await pool.close()
process.stdout.write(`${JSON.stringify({ name, ...result })}\n`)
process.exit(0)
