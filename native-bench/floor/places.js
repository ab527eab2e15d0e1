/**
 * The least that a value by place costs: `node native-bench/floor/places.js <bytes> <outstanding> [seconds]`. Two workers copy it out of one file in
 * `/dev/shm` and into another, as the pool's do; a byte in a pipe tells where. No queue, no codec, no check.
 */
import { spawn } from 'node:child_process'
import { constants, openSync, readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

const WORKERS = 2
const WARM_MS = 700
/** Linux: a file without a name. */
const O_TMPFILE = 0o20200000
const [JOBS, RESULTS, ARGUMENTS, VALUES] = [3, 4, 5, 6]

const [first = '65536', second = '16', seconds = '2'] = process.argv.slice(2)

/** @param {number} bytes */
const work = (bytes) => {
  const pipe = new Socket({ fd: JOBS, readable: true, writable: false })
  pipe.on('data', (/** @type {Buffer} */ places) => {
    for (const place of places) {
      const value = Buffer.allocUnsafeSlow(bytes)
      readSync(ARGUMENTS, value, 0, bytes, place * bytes)
      writeSync(VALUES, value, 0, bytes, place * bytes)
      writeSync(RESULTS, Buffer.of(place))
    }
  })
}

const openMemory = () => openSync('/dev/shm', constants.O_RDWR | O_TMPFILE, 0o600)

/** @param {number} bytes @param {number} outstanding @param {number} ms */
const drive = (bytes, outstanding, ms) => {
  const each = outstanding / WORKERS
  let done = 0
  const workers = Array.from({ length: WORKERS }, () => {
    const [args, values] = [openMemory(), openMemory()]
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'worker', String(bytes)], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe', args, values],
    })
    const [, , , jobs, results] = /** @type {Socket[]} */ (/** @type {unknown} */ (child.stdio))
    const sources = Array.from({ length: each }, (_, place) => Buffer.alloc(bytes, place + 1))
    const send = (/** @type {number} */ place) => {
      // As at a call: the caller may change its Buffer afterwards.
      const copy = Buffer.allocUnsafeSlow(bytes)
      sources[place]?.copy(copy)
      writeSync(args, copy, 0, bytes, place * bytes)
      jobs?.write(Buffer.of(place))
    }
    results?.on('data', (/** @type {Buffer} */ places) => {
      for (const place of places) {
        const value = Buffer.allocUnsafeSlow(bytes)
        readSync(values, value, 0, bytes, place * bytes)
        if (value[bytes >> 1] !== place + 1) throw new Error("another place's bytes came back")
        done++
        send(place)
      }
    })
    for (let place = 0; place < each; place++) send(place)
    return child
  })
  setTimeout(() => {
    const [before, began, cpu] = [done, performance.now(), process.cpuUsage()]
    setTimeout(() => {
      const { user, system } = process.cpuUsage(cpu)
      const count = done - before
      console.log(`${Math.round((1_000 * count) / (performance.now() - began))}/s, ${((user + system) / count).toFixed(0)} µs of the host's CPU each`)
      for (const child of workers) child.kill('SIGKILL')
      process.exit()
    }, ms)
  }, WARM_MS)
}

if (first === 'worker') work(Number(second))
else drive(Number(first), Number(second), 1_000 * Number(seconds))
