/** @import { FloorAnswer, FloorPlan } from '../types.js' */
/** @import { ChildProcess } from 'node:child_process' */
/** @import { Socket } from 'node:net' */
// The minimal host in Node: pipes and frames, no pool, no promise, no codec. One buffer and one write for each worker and turn.
// node:child_process, not execa: the cost of the minimal host is measured.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { quantile } from '../lib/statistics.js'
import { ACCEPTED, Cutter, FRAME_HEAD, JOB, JOB_HEAD, LENGTH_BYTES, putHead, READY } from './node-frames.js'

const WORKER = fileURLToPath(new URL('./node-worker.js', import.meta.url))
const COPY_LIMIT = 8 * 1_024
const STAGING_BYTES = 64 * 1_024
const WARM_UP_SECONDS = 0.4

class Side {
  /** @type {ChildProcess} */
  child
  /** @type {Socket} */
  #jobs
  #staging = Buffer.allocUnsafeSlow(STAGING_BYTES)
  #filled = 0

  /** @param {(bytes: Buffer, start: number, end: number) => void} take */
  constructor(take) {
    this.child = spawn(process.execPath, [WORKER], { stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'] })
    this.#jobs = /** @type {Socket} */ (this.child.stdio[3])
    const cutter = new Cutter(take)
    this.child.stdio[4]?.on('data', (/** @type {Buffer} */ chunk) => cutter.push(chunk))
  }

  /** @param {number} job @param {Buffer} payload */
  put(job, payload) {
    const copied = payload.length > COPY_LIMIT ? 0 : payload.length
    if (this.#filled + JOB_HEAD + copied > STAGING_BYTES) this.flush()
    putHead(this.#staging, this.#filled, JOB_HEAD - LENGTH_BYTES + payload.length, JOB, job)
    this.#filled += JOB_HEAD
    if (copied > 0) this.#filled += payload.copy(this.#staging, this.#filled)
    if (copied === payload.length) return
    this.flush()
    this.#jobs.write(payload)
  }

  flush() {
    if (this.#filled === 0) return
    this.#jobs.write(this.#staging.subarray(0, this.#filled))
    // The stream may still hold this memory: it must not be overwritten.
    if (this.#jobs.writableLength > 0) this.#staging = Buffer.allocUnsafeSlow(STAGING_BYTES)
    this.#filled = 0
  }

  async end() {
    this.#jobs.end()
    await once(this.child, 'exit')
  }
}

class Host {
  /** @type {Side[]} */
  #sides
  #outstanding
  /** The running jobs by lane: a lane has one job at a time. @type {Float64Array} */
  #jobs
  /** @type {Uint8Array} */
  #accepted
  #began
  /** @type {Buffer[]} */
  #payloads
  #next = 0
  #done = 0
  #until = 0
  #flushing = false
  /** @type {number[] | undefined} */
  #took
  /** @type {() => void} */
  #finished = () => {}
  #last = 0

  /** @param {{ workers: number, outstanding: number, size: number }} plan */
  constructor({ workers, outstanding, size }) {
    this.#outstanding = outstanding
    this.#jobs = new Float64Array(outstanding).fill(-1)
    this.#accepted = new Uint8Array(outstanding)
    this.#began = new Float64Array(outstanding)
    this.#payloads = Array.from({ length: outstanding }, () => Buffer.allocUnsafeSlow(size).fill(1))
    this.#sides = Array.from({ length: workers }, () => new Side((bytes, start, end) => this.#take(bytes, start, end)))
  }

  /** @param {number} seconds (0: one job) @param {number[]} [took] gets the microseconds of each job */
  async drive(seconds, took) {
    const began = performance.now()
    this.#until = began + seconds * 1_000
    this.#took = took
    this.#done = 0
    const cpu = process.cpuUsage()
    const finished = new Promise((resolve) => {
      this.#finished = () => resolve(undefined)
    })
    for (let lane = 0; lane < this.#outstanding; lane++) this.#submit(lane)
    await finished
    const { user, system } = process.cpuUsage(cpu)
    return { jobs: this.#done, perSecond: (1_000 * this.#done) / (this.#last - began), hostMicros: (user + system) / this.#done }
  }

  async end() {
    for (const side of this.#sides) await side.end()
  }

  /** @param {number} lane */
  #submit(lane) {
    const job = this.#next++ * this.#outstanding + lane
    const payload = /** @type {Buffer} */ (this.#payloads[lane])
    if (payload.length >= 8) payload.writeDoubleLE(job, payload.length - 8)
    this.#jobs[lane] = job
    this.#accepted[lane] = 0
    if (this.#took !== undefined) this.#began[lane] = performance.now()
    this.#sides[this.#next % this.#sides.length]?.put(job, payload)
    if (this.#flushing) return
    this.#flushing = true
    // After the poll phase: one write answers everything that arrived in this turn of the event loop.
    setImmediate(() => {
      this.#flushing = false
      for (const side of this.#sides) side.flush()
    })
  }

  /** @param {Buffer} bytes @param {number} start @param {number} end */
  #take(bytes, start, end) {
    const kind = bytes[start + LENGTH_BYTES]
    const job = bytes.readDoubleLE(start + 12)
    const lane = job % this.#outstanding
    if (this.#jobs[lane] !== job) throw new Error(`an answer to job ${job}, which is not under way`)
    if (kind === ACCEPTED) {
      if (this.#accepted[lane] !== 0) throw new Error(`job ${job} was accepted twice`)
      this.#accepted[lane] = 1
      return
    }
    if (kind !== READY || this.#accepted[lane] !== 1) throw new Error(`a result of job ${job}, which was not accepted`)
    const size = /** @type {Buffer} */ (this.#payloads[lane]).length
    if (end - start - FRAME_HEAD !== size || (size >= 8 && bytes.readDoubleLE(end - 8) !== job)) throw new Error(`the result of job ${job} is not its own`)
    this.#jobs[lane] = -1
    this.#done++
    const now = performance.now()
    this.#took?.push((now - /** @type {number} */ (this.#began[lane])) * 1_000)
    if (now < this.#until) this.#submit(lane)
    else if (this.#jobs.every((each) => each === -1)) {
      this.#last = now
      this.#finished()
    }
  }
}

/** @param {FloorPlan} plan @returns {Promise<FloorAnswer>} */
export const driveNodeFloor = async ({ mode, workers = 2, outstanding = mode === 'throughput' ? 128 : 1, size = 0, seconds = 1 }) => {
  if (mode === 'start') {
    const began = performance.now()
    const host = new Host({ workers: 1, outstanding: 1, size: 0 })
    await host.drive(0)
    const ms = performance.now() - began
    await host.end()
    return { ms }
  }
  const host = new Host({ workers, outstanding, size })
  await host.drive(WARM_UP_SECONDS)
  /** @type {number[]} */
  const took = []
  const answer = await host.drive(seconds, mode === 'roundtrip' ? took : undefined)
  await host.end()
  if (mode === 'throughput') return answer
  const sorted = Float64Array.from(took).sort()
  return { jobs: answer.jobs, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), p999: quantile(sorted, 0.999) }
}
