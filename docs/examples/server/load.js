// A steady load of HTTP requests to this server. It shows whether a fault affects other requests.
import { Agent, get } from 'node:http'

const TICK = 25
const MAX_OUTSTANDING = 40
const WINDOW = 10_000

export class Load {
  #agent = new Agent({ keepAlive: true, maxSockets: MAX_OUTSTANDING })
  #url
  #timer
  #recent = []
  #counters = { sent: 0, ok: 0, failed: 0, held: 0, statuses: {} }
  #outstanding = 0
  rate = 0

  /** @param url the address of the server, known once it listens */
  aim(url) {
    this.#url = url
  }

  start(rate) {
    clearInterval(this.#timer)
    if (this.rate === 0) {
      this.#recent = []
      this.#counters = { sent: 0, ok: 0, failed: 0, held: 0, statuses: {} }
    }
    this.rate = rate
    // By the clock, not by the number of ticks: a late timer sends all requests that are due.
    let due = performance.now()
    this.#timer = setInterval(() => {
      for (const now = performance.now(); due <= now; due += 1_000 / rate) this.#send()
    }, TICK)
  }

  /** Sends `count` short requests at once, each on its own connection: more than the queue accepts. */
  async flood(count) {
    const answers = await Promise.all(Array.from({ length: count }, () => status(new URL('/nap?ms=10', this.#url))))
    const counts = {}
    for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1
    return counts
  }

  stop() {
    clearInterval(this.#timer)
    this.rate = 0
  }

  close() {
    this.stop()
    this.#agent.destroy()
  }

  snapshot() {
    const since = performance.now() - WINDOW
    this.#recent = this.#recent.filter(({ at }) => at > since)
    const times = this.#recent.map(({ ms }) => ms).sort((a, b) => a - b)
    const quantile = (q) => times[Math.min(times.length - 1, Math.floor(q * times.length))] ?? 0
    const latency = { count: times.length, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max: times.at(-1) ?? 0 }
    return { rate: this.rate, outstanding: this.#outstanding, ...this.#counters, latency }
  }

  #send() {
    const counters = this.#counters
    // At the limit it waits for responses, so that it does not add to an overload.
    if (this.#outstanding >= MAX_OUTSTANDING) {
      counters.held++
      return
    }
    counters.sent++
    this.#outstanding++
    const began = performance.now()
    const width = 160 + ((counters.sent * 37) % 320)
    const done = (answer) => {
      this.#outstanding--
      counters.statuses[answer] = (counters.statuses[answer] ?? 0) + 1
      counters[answer === 200 ? 'ok' : 'failed']++
      const at = performance.now()
      this.#recent.push({ at, ms: at - began })
    }
    status(new URL(`/resize?width=${width}`, this.#url), this.#agent).then(done)
  }
}

/** Resolves with the status of the response, or with the error code; never rejects. */
function status(url, agent) {
  return new Promise((resolve) => {
    get(url, { agent }, (res) => {
      res.resume()
      res.once('close', () => resolve(res.complete ? res.statusCode : 'broken off'))
    }).once('error', (error) => resolve(error.code ?? 'error'))
  })
}
