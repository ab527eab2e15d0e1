// Generates the load: jobs of every kind, all submitted and recorded in one way.
import { isDeepStrictEqual } from 'node:util'
import { kindOf } from './ledger.js'
import { bufferOf, mixedOf } from './random.js'

/** Pending jobs of a pool at most; ms between two rounds of submission; share of the rounds with a burst. */
const OUTSTANDING = 250
const ROUND_MS = 20
const BURST_SHARE = 0.01

const WORK = {
  echo: 50,
  nap: 16,
  spin: 9,
  value: 6,
  buffer: 4,
  big: 1,
  transfer: 1,
  reports: 2,
  context: 2,
  throws: 4,
  limited: 4,
  aborted: 2,
  stream: 1.5,
  map: 0.4,
  broadcast: 0.15,
}

export class Load {
  #ledger
  #random
  #pools
  #jobsPerSecond
  #timer
  #last = 0
  #due = 0
  #number = 0
  /** Pending jobs by id: the faults cancel some at random. */
  handles = new Map()
  /** Streams, maps and broadcasts in progress. */
  open = new Set()

  constructor(ledger, random, pools, jobsPerSecond) {
    this.#ledger = ledger
    this.#random = random
    this.#pools = pools
    this.#jobsPerSecond = jobsPerSecond
  }

  start() {
    this.#last = performance.now()
    this.#timer = setInterval(() => this.#round(), ROUND_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  #round() {
    const random = this.#random
    const now = performance.now()
    this.#due = Math.min(this.#due + ((now - this.#last) * this.#jobsPerSecond) / 1000, 100)
    this.#last = now
    if (random.chance(BURST_SHARE)) {
      const target = random.pick(this.#pools)
      for (let n = random.int(20, 80); n > 0; n -= 1) this.#work(target, 'echo')
    }
    for (; this.#due >= 1; this.#due -= 1) this.#work(random.pick(this.#pools), random.weighted(WORK))
  }

  /** Options that every job may have. */
  #options(retry) {
    const random = this.#random
    return {
      ...(retry > 0 ? { retryLost: retry } : {}),
      ...(random.chance(0.3) ? { priority: random.int(-3, 3) } : {}),
    }
  }

  #work(target, kind) {
    if (this.#ledger.pendingIn(target.name) > OUTSTANDING) return
    const random = this.#random
    const seed = random.int(0, 2 ** 30)
    const retry = random.chance(0.25) ? random.int(1, 3) : 0
    const submit = (task, args, value, more) => this.submit(target, task, args, { kind, retry, may: ['value'], value }, { ...this.#options(retry), ...more })
    if (kind === 'echo') submit('echo', [seed], seed)
    else if (kind === 'nap' || kind === 'spin') {
      const ms = random.int(0, kind === 'nap' || random.chance(0.1) ? 50 : 5)
      submit(kind, [ms], ms)
    } else if (kind === 'value') {
      const given = mixedOf(seed)
      submit('echo', [given], () => mixedOf(seed))
      // Arguments are copied by the call: this change must have no effect.
      given.list.push('too late')
    } else if (kind === 'buffer' || kind === 'big') {
      const size = kind === 'big' ? random.int(64 * 1024, 256 * 1024) : random.int(0, 32 * 1024)
      const given = bufferOf(seed, size)
      submit('echo', [given], () => bufferOf(seed, size))
      given.fill(0)
    } else if (kind === 'transfer') {
      const size = random.int(1, 128 * 1024)
      const given = new ArrayBuffer(size)
      submit('size', [given], size, { transfer: [given] })
    } else if (kind === 'reports') submit('reports', [random.int(1, 12)], undefined)
    else if (kind === 'context') submit('context', [], { seed }, { context: { seed } })
    else if (kind === 'throws') this.submit(target, 'throws', [random.int(0, 5)], { kind, retry, may: ['thrown'] }, this.#options(retry))
    else if (kind === 'limited') submit('nap', [random.int(0, 30)], undefined, { softTimeLimit: 20_000, timeLimit: 25_000 })
    else if (kind === 'aborted') this.#aborted(target, random.int(0, 60))
    else if (kind === 'stream') this.stream(target)
    else if (kind === 'map') this.#map(target)
    else this.#broadcast(target)
  }

  /** Submits a job and records its outcome; `plan` says how it may end. */
  submit(target, task, args, plan, options = {}) {
    const ledger = this.#ledger
    this.#number += 1
    const id = `${target.name}-${this.#number}`
    plan.promise = true
    ledger.plan(id, plan)
    const job = target.pool.submit(task, args, { ...options, id })
    this.handles.set(id, { job, plan })
    job.began.then((began) => ledger.began(id, began))
    const settled = (state, kind) => {
      this.handles.delete(id)
      ledger.outcome(id, state, kind)
      plan.settled?.()
    }
    job.result.then(
      (result) => {
        settled('succeeded', 'value')
        const expected = typeof plan.value === 'function' ? plan.value() : plan.value
        if (result?.id !== id || (expected !== undefined && !isDeepStrictEqual(result.value, expected)))
          ledger.violation(`promise 7: ${id} (${plan.kind}) got another value`)
      },
      (error) => settled(job.state, plan.cancelled && error === plan.reason ? 'cancelled' : kindOf(error, id)),
    )
    return { id, job, plan }
  }

  /** Cancels with a reason that the ledger recognises. */
  cancel({ job, plan }) {
    if (plan.cancelled || plan.signal) return
    const reason = new Error('cancelled by the soak')
    plan.cancelled = true
    plan.reason = reason
    if (!job.cancel(reason)) {
      plan.cancelled = false
      plan.reason = undefined
    }
  }

  #aborted(target, ms) {
    const controller = new AbortController()
    const plan = { kind: 'aborted', retry: 0, may: ['value'], cancelled: true, signal: true, reason: new Error('aborted by the soak') }
    const timer = setTimeout(() => controller.abort(plan.reason), ms)
    plan.settled = () => clearTimeout(timer)
    this.submit(target, 'nap', [this.#random.int(0, 50)], plan, { signal: controller.signal })
  }

  #track(call) {
    this.open.add(call)
    call.catch((error) => this.#ledger.violation(`the soak itself: ${error?.stack}`)).finally(() => this.open.delete(call))
  }

  stream(target, breaks = this.#random.chance(0.3)) {
    const random = this.#random
    const [count, bytes, ms] = [random.int(0, 60), random.pick([0, 100, 10_000]), random.pick([0, 0, 1])]
    const pause = random.chance(0.2) ? random.int(1, 5) : 0
    const stopAt = breaks ? random.int(0, 30) : -1
    const retry = random.chance(0.5) ? 2 : 0
    this.#number += 1
    const id = `${target.name}-${this.#number}`
    const plan = { kind: 'stream', retry, may: ['value', 'full'] }
    const ledger = this.#ledger
    const consume = async () => {
      ledger.plan(id, plan)
      let next = 0
      try {
        for await (const item of target.pool.stream('items', [count, bytes, ms], { id, ...(retry > 0 ? { retryLost: retry } : {}) })) {
          if (item.id !== id || item.n !== next || item.bytes.length !== bytes)
            ledger.violation(`promise 7: ${id}: item ${next} of the stream is ${item.id} ${item.n}`)
          next += 1
          if (next === stopAt) {
            plan.cancelled = true
            break
          }
          if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
        }
        if (!plan.cancelled && next !== count) ledger.violation(`promise 3: ${id}: the stream had ${next} items of ${count}`)
      } catch (error) {
        // The ledger verifies the event; the consumer must get the same error.
        if (!['lost', 'full'].includes(kindOf(error, id))) ledger.violation(`${id}: the stream failed: ${kindOf(error, id)}`)
      }
    }
    this.#track(consume())
  }

  #map(target) {
    const random = this.#random
    const count = random.int(1, 60)
    const stopAt = random.chance(0.2) ? random.int(1, count) : -1
    const ordered = random.chance(0.5)
    const longest = random.int(0, 10)
    const consume = async () => {
      const seen = new Set()
      const source = function* () {
        for (let n = 0; n < count; n += 1) yield [n, (n * 7) % (longest + 1)]
      }
      try {
        for await (const n of target.pool.map(random.chance(0.7) ? 'mappedAgain' : 'mapped', source(), { ordered })) {
          if (seen.has(n) || (ordered && n !== seen.size)) this.#ledger.violation(`promise 7: a map of ${target.name} gave ${n} as number ${seen.size}`)
          seen.add(n)
          if (seen.size === stopAt) break
        }
        if (stopAt < 0 && seen.size !== count) this.#ledger.violation(`promise 3: a map of ${target.name} gave ${seen.size} results of ${count}`)
      } catch (error) {
        if (!['lost', 'full'].includes(kindOf(error))) this.#ledger.violation(`a map of ${target.name} failed: ${kindOf(error)}`)
      }
    }
    this.#track(consume())
  }

  #broadcast(target) {
    const call = async () => {
      try {
        const pids = await target.pool.broadcast('pidOf', [])
        if (pids.length === 0 || !pids.every((pid) => pid > 0)) this.#ledger.violation(`a broadcast of ${target.name} gave ${pids}`)
      } catch (error) {
        if (!['lost', 'full'].includes(kindOf(error))) this.#ledger.violation(`a broadcast of ${target.name} failed: ${kindOf(error)}`)
      }
    }
    this.#track(call())
  }
}
