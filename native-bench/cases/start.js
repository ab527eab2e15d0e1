/** ms from the call of createPool to the first result, the module being loaded. Prints one JSON line. */
const [name] = process.argv.slice(2)
const { open } = await import(`../pools/${name}.js`)
const began = performance.now()
const pool = await open({ workers: 1 })
await pool.noop()
const ms = performance.now() - began
await pool.close()
process.stdout.write(`${JSON.stringify({ name, ms })}\n`)
process.exit(0)
