/** @import { Case, OpenOptions, OpenPool, Variant } from '../types.js' */
// node:child_process, not execa: this process is measured.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { freemem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { check, keepCalling, measuredSeconds, noopOf, warmUp } from '../lib/load.js'
import { objectOf } from './objects.js'

/** @typedef {Variant & { load: keyof typeof LOADS, holdMB: number }} LatencyVariant */

const CALLERS = 64
const MB = 1_024 * 1_024
const BLOCK_MB = 50
/** Interval of the timer that samples the delay of the event loop, ms; it is subtracted. */
const RESOLUTION_MS = 1

/** @param {OpenPool} pool @param {number} ms */
const busy = (pool, ms) => async () => check((await pool.call('busy', ms)) === ms, "another call's answer")

/** @param {OpenPool} pool */
const objects = (pool) => async (/** @type {number} */ caller) => {
  const answer = /** @type {{ id: number }} */ (await pool.call('echo', objectOf(1_024, caller)))
  check(answer.id === caller, "another caller's object")
}

const LOADS = {
  '1ms': { title: '1 ms jobs', options: { workers: 2, varied: true }, callOf: (/** @type {OpenPool} */ pool) => busy(pool, 1) },
  noop: { title: 'no-ops', options: { workers: 2 }, callOf: noopOf },
  '1KB': { title: '1 KB objects', options: { workers: 2 }, callOf: objects },
  recycle: { title: 'no-ops, a worker recycled every second', options: { workers: 2, workerAge: 2_000 }, callOf: noopOf },
}

/** Allocates memory and writes each page, so that it is resident. @param {number} wantedMB */
const hold = (wantedMB) => Array.from({ length: Math.ceil(wantedMB / BLOCK_MB) }, (_, n) => Buffer.alloc(BLOCK_MB * MB, n + 1))

/**
 * Measures the latencies of HTTP requests from another process while `load` runs.
 * @param {number} seconds
 * @param {() => Promise<unknown>} load
 */
const requestWhile = async (seconds, load) => {
  const server = createServer((_, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const client = fork(new URL('./latency-client.js', import.meta.url), [String(port), String(seconds)])
  const answered = once(client, 'message')
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  await load()
  delay.disable()
  const [{ p50, p99, wrong }] = await answered
  server.close()
  server.closeAllConnections()
  check(wrong === 0, `${wrong} requests failed`)
  return { httpP50: p50, httpP99: p99, loopP99: Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS) }
}

/** @type {Case<LatencyVariant>} */
export default {
  name: 'latency',
  title: "The host's own latency",
  about: `${CALLERS} callers keep 2 workers saturated, while another process sends a request to the host's HTTP server every 5 ms, and the delay of the host's event loop is sampled every millisecond. The host holds 50 MB or 2 GB. Workers, host and client share the cores.`,
  variants: [50, 2_000].flatMap((holdMB) =>
    Object.entries(LOADS).map(([load, { title }]) => ({
      key: `${load}-${holdMB}MB`,
      title: `${title}, ${holdMB === 50 ? '50 MB' : '2 GB'}`,
      load: /** @type {keyof typeof LOADS} */ (load),
      holdMB,
      quick: holdMB === 50 && (load === 'noop' || load === '1ms'),
      maxRounds: 3,
      // The targets compare with piscina alone.
      ...(load === 'recycle' ? {} : { page: holdMB === 50 ? {} : { pools: ['prefork', 'piscina'] } }),
    })),
  ),
  metrics: {
    httpP99: { title: 'HTTP p99', unit: 'ms', digits: 2, better: 'less' },
    httpP50: { title: 'HTTP p50', unit: 'ms', digits: 2, better: 'less' },
    loopP99: { title: "event loop's delay p99", unit: 'ms', digits: 2, better: 'less' },
    perSecond: { title: 'jobs meanwhile', unit: '/s', digits: 0, better: 'more' },
  },
  chart: [
    { metric: 'httpP99', variant: 'noop-50MB' },
    { metric: 'httpP99', variant: '1ms-50MB' },
  ],
  refuse({ recycles }, { load, holdMB }) {
    if (load === 'recycle' && !recycles) return 'does not replace workers by age'
    return freemem() < 1.5 * holdMB * MB ? 'not enough free memory on this machine' : undefined
  },
  async measure({ open, variant: { load, holdMB }, quick }) {
    const held = hold(holdMB)
    const { options, callOf } = LOADS[load]
    const pool = await open(options)
    const call = callOf(pool)
    const measured = measuredSeconds(quick, 3)
    await warmUp(CALLERS, call)
    let perSecond = 0
    const latencies = await requestWhile(measured, async () => {
      const answer = await keepCalling({ outstanding: CALLERS, seconds: measured + 0.3 }, call)
      perSecond = answer.perSecond
    })
    await pool.close()
    check(
      held.every((block, n) => block[block.length - 1] === n + 1),
      'the memory held',
    )
    return { ...latencies, perSecond }
  },
}
