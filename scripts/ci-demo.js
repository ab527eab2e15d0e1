// Starts the demo as the README does, asks it a question while a job is in flight, and stops it with Ctrl-C.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const WAIT_MS = 30_000

// A process group of its own: Ctrl-C in a terminal reaches all of it.
const demo = spawn('npm', ['run', 'demo'], { cwd: root, env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
const timer = setTimeout(() => {
  console.error(`the demo has not come to its end within ${WAIT_MS} ms`)
  process.kill(-demo.pid, 'SIGKILL')
}, WAIT_MS)

let output = ''
const exited = once(demo, 'exit')
const url = await new Promise((resolve, reject) => {
  demo.stdout.setEncoding('utf8')
  demo.stdout.on('data', (text) => {
    process.stdout.write(text)
    output += text
    const found = /http:\/\/[\w.[\]:]+/.exec(output)
    if (found && /\n/.test(output.slice(found.index))) resolve(found[0])
  })
  exited.then(([code, signal]) => reject(new Error(`the demo ended with ${code ?? signal} before it said its URL`)))
})

const stats = await (await fetch(`${url}/stats`)).json()
console.log(`${stats.pool.workers.length} workers`)
const nap = fetch(`${url}/nap?ms=1500`)
// The job is to be in flight when the signal comes.
while ((await (await fetch(`${url}/stats`)).json()).pool.running === 0) await new Promise((resolve) => setTimeout(resolve, 20))
process.kill(-demo.pid, 'SIGINT')
const answer = await nap
const [code] = await exited
clearTimeout(timer)
console.log(`the job in flight was answered with ${answer.status}, the demo ended with ${code}`)
process.exitCode = answer.status === 200 && code === 0 ? 0 : 1
