// Sends a request every 5 ms, answered or not, to a port for so many seconds, and sends the quantiles of the latency to its parent.
import { Agent, get } from 'node:http'
import { quantile } from '../lib/statistics.js'

const [port, seconds] = process.argv.slice(2).map(Number)
const EVERY_MS = 5
const agent = new Agent({ keepAlive: true })
/** @type {number[]} */
const took = []
let wrong = 0
let asked = 0

const ask = () => {
  asked++
  const began = performance.now()
  const request = get({ port, host: '127.0.0.1', agent }, (response) => {
    if (response.statusCode !== 200) wrong++
    response.resume()
    response.on('end', () => took.push(performance.now() - began))
  })
  request.on('error', () => wrong++)
}

const timer = setInterval(ask, EVERY_MS)
setTimeout(
  () => {
    clearInterval(timer)
    const finish = setInterval(() => {
      if (took.length + wrong < asked) return
      clearInterval(finish)
      const sorted = Float64Array.from(took).sort()
      process.send?.({ p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), wrong }, () => process.exit(0))
    }, 10)
  },
  (seconds ?? 1) * 1_000,
)
