// Starts the demo as in the README and stops it with Ctrl-C while a job is in flight: the job must be answered.
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = fileURLToPath(new URL('..', import.meta.url))
const WAIT_MS = 30_000

// A process group of its own, as Ctrl-C in a terminal signals the whole group.
const io = { stdin: 'ignore', stdout: ['pipe', 'inherit'], stderr: 'inherit' }
const demo = execa('npm', ['run', 'demo'], { ...io, cwd: root, env: { PORT: '0' }, detached: true, reject: false })
const timer = setTimeout(() => {
  console.error(`the demo has not ended within ${WAIT_MS} ms`)
  process.kill(-demo.pid, 'SIGKILL')
}, WAIT_MS)

let output = ''
const url = await new Promise((resolve, reject) => {
  demo.stdout.on('data', (text) => {
    output += text
    const found = /http:\/\/[\w.[\]:]+/.exec(output)
    if (found && /\n/.test(output.slice(found.index))) resolve(found[0])
  })
  demo.then(({ exitCode, signal }) => reject(new Error(`the demo ended with ${exitCode ?? signal} before it printed its URL`)))
})

const stats = await (await fetch(`${url}/stats`)).json()
console.log(`${stats.pool.workers.length} workers`)
const nap = fetch(`${url}/nap?ms=1500`)
// Wait until the job is in flight, among those of the load.
const inFlight = ({ pool }) => pool.workers.some(({ job }) => job?.name === 'nap')
while (!inFlight(await (await fetch(`${url}/stats`)).json())) await new Promise((resolve) => setTimeout(resolve, 20))
process.kill(-demo.pid, 'SIGINT')
const answer = await nap
const { exitCode } = await demo
clearTimeout(timer)
console.log(`the job in flight was answered with ${answer.status}, the demo ended with ${exitCode}`)
process.exitCode = answer.status === 200 && exitCode === 0 ? 0 : 1
