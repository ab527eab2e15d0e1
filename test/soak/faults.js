// Injects faults at a steady rate. A fatal fault ends a worker: it is chosen when few enough workers are missing, or when fewer
// have died than the configuration asks for. Otherwise the fault ends no worker.

const FATAL = {
  kill: 30,
  exit: 9,
  segv: 9,
  abort: 5,
  killSelf: 6,
  exhaust: 1.5,
  spinHard: 5,
  neverHard: 5,
  spinLaterSoft: 2,
  neverSoft: 2,
  neverCancelled: 3,
  answersAndDies: 5,
  diesUntil: 12,
  closesPipe: 3,
  junk: 2,
  freeze: 0.5,
  growMemory: 0.7,
}
const NON_FATAL = {
  cancel: 30,
  stopAndContinue: 10,
  spinSoft: 6,
  spinCancelled: 4,
  respondsToAbort: 5,
  flood: 4,
  cannotBeCopied: 6,
  badArgument: 3,
  unknownTask: 2,
  stall: 3,
  resize: 1.5,
  restart: 0.6,
  rejectsLater: 3,
  throwsLater: 3,
  spawns: 1,
  breaksStream: 3,
  signals: 3,
  stack: 2,
}
/** The share of possible fatal faults that is replaced by non-fatal ones: every kind occurs throughout the run. */
const NON_FATAL_SHARE = 0.15
/** The share of signals among the fatal faults that catch up with `deathsPerSecond`: a signal waits in no queue. */
const SIGNAL_SHARE = 0.7
const TICK_MS = 10

export class Faults {
  #ledger
  #load
  #random
  #pools
  #perSecond
  #missingAllowed
  #deathsPerSecond
  #timer
  #last = 0
  #due = 0
  #deathsDue = 0
  #stopped = new Map()
  #fatalPending = 0
  injected = 0
  kinds = {}
  /** Rolling restarts under way. */
  restarts = new Set()

  constructor(ledger, load, random, pools, { perSecond, missingAllowed, deathsPerSecond }) {
    this.#ledger = ledger
    this.#load = load
    this.#random = random
    this.#pools = pools
    this.#perSecond = perSecond
    this.#missingAllowed = missingAllowed
    this.#deathsPerSecond = deathsPerSecond
  }

  start() {
    this.#last = performance.now()
    this.#timer = setInterval(() => this.#round(), TICK_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  /** How many workers are stopped by SIGSTOP. */
  get stopped() {
    return this.#stopped.size
  }

  #round() {
    const now = performance.now()
    this.#due += ((now - this.#last) * this.#perSecond) / 1000
    this.#deathsDue += ((now - this.#last) * this.#deathsPerSecond) / 1000
    this.#last = now
    for (; this.#due >= 1; this.#due -= 1) this.#inject()
  }

  #inject() {
    const random = this.#random
    const tables = this.#pools.map((target) => ({ target, workers: target.pool.stats().workers }))
    const atWork = tables.reduce((sum, { workers }) => sum + workers.filter(isUp).length, 0)
    const wanted = tables.reduce((sum, { target }) => sum + target.wanted, 0)
    const behind = this.#ledger.counts.deaths + this.#fatalPending < this.#deathsDue && atWork > 0
    const fatal = behind || (wanted - atWork + this.#fatalPending < this.#missingAllowed && !random.chance(NON_FATAL_SHARE))
    const { target, workers } = random.pick(tables)
    let kind = behind && random.chance(SIGNAL_SHARE) ? 'kill' : random.weighted(fatal ? FATAL : NON_FATAL)
    // Some faults need a running worker, or a pool with a certain option.
    const up = workers.filter((worker) => isUp(worker) && !this.#stopped.has(worker.pid))
    if (kind === 'growMemory' && !target.memory) kind = 'exit'
    if (kind === 'freeze' && !target.freezes) kind = 'segv'
    const worker = up.length === 0 ? undefined : random.pick(up)
    if (worker === undefined && ['kill', 'freeze', 'stopAndContinue', 'signals', 'stack'].includes(kind)) kind = fatal ? 'abort' : 'cannotBeCopied'
    if ((kind === 'kill' || kind === 'freeze') && worker.jobs === 0 && worker.running === 0 && !this.#ledger.mayKillUnproven(target.name)) kind = 'exit'
    this.injected += 1
    this.kinds[kind] = (this.kinds[kind] ?? 0) + 1
    if (fatal) this.#fatal(kind, target, worker)
    else this.#nonFatal(kind, target, worker)
  }

  #signal(pid, signal) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }

  /** Submits a job that ends its worker. */
  #fatalJob(target, task, args, plan, options = {}) {
    this.#fatalPending += 1
    plan.settled = () => {
      this.#fatalPending -= 1
    }
    const more = this.#random.chance(0.3) ? { priority: this.#random.int(0, 3) } : {}
    return this.#load.submit(target, task, args, { retry: 0, may: [], ...plan, kind: task }, { ...more, ...options })
  }

  #later(ms, act) {
    setTimeout(act, ms)
  }

  #fatal(kind, target, worker) {
    const random = this.#random
    const ms = random.int(10, 40)
    if (kind === 'kill') {
      this.#ledger.injected(target.name, worker.id, 'SIGKILL')
      this.#signal(worker.pid, 'SIGKILL')
    } else if (kind === 'freeze') {
      this.#ledger.injected(target.name, worker.id, 'frozen')
      this.#stop(target, worker, 8_000)
    } else if (kind === 'exit') this.#fatalJob(target, 'exits', [random.int(0, 9)], {})
    else if (kind === 'segv') this.#fatalJob(target, 'signals', ['SIGSEGV'], {})
    else if (kind === 'killSelf') this.#fatalJob(target, 'signals', ['SIGKILL'], {})
    else if (kind === 'abort') this.#fatalJob(target, 'aborts', [], {})
    else if (kind === 'exhaust') this.#fatalJob(target, 'exhausts', [], {})
    else if (kind === 'growMemory') this.#fatalJob(target, 'growsMemory', [], { may: ['memory'] })
    else if (kind === 'spinHard') this.#fatalJob(target, random.pick(['spinOn', 'spinLater']), [], { may: ['hard'] }, { timeLimit: ms })
    else if (kind === 'neverHard') this.#fatalJob(target, 'ignoresAbort', [], { may: ['hard'] }, { timeLimit: ms })
    else if (kind === 'spinLaterSoft') this.#fatalJob(target, 'spinLater', [], { may: ['soft'] }, { softTimeLimit: ms })
    else if (kind === 'neverSoft') this.#fatalJob(target, 'ignoresAbort', [], { may: ['soft'] }, { softTimeLimit: ms })
    else if (kind === 'neverCancelled') {
      const job = this.#fatalJob(target, random.pick(['ignoresAbort', 'spinLater']), [], {})
      this.#later(random.int(0, 300), () => this.#load.cancel(job))
    } else if (kind === 'answersAndDies') this.#fatalJob(target, 'answersAndDies', [], { may: ['value'] })
    else if (kind === 'diesUntil') {
      const retry = random.int(0, 3)
      this.#fatalJob(target, 'diesUntil', [random.int(1, 3), random.int(0, 10)], { retry, may: ['value'] }, retry > 0 ? { retryLost: retry } : {})
    } else if (kind === 'closesPipe') this.#fatalJob(target, 'closesPipe', [random.int(3, 5)], { may: ['value'] })
    else this.#fatalJob(target, 'junk', [4, random.int(1, 5000)], { may: ['value'] })
  }

  #nonFatal(kind, target, worker) {
    const random = this.#random
    const load = this.#load
    const ms = random.int(10, 40)
    const submit = (task, args, may, options) => load.submit(target, task, args, { kind: task, retry: 0, may }, options)
    if (kind === 'cancel') {
      const handles = [...load.handles.values()].filter(({ plan }) => !plan.signal)
      if (handles.length > 0) load.cancel(random.pick(handles))
    } else if (kind === 'stopAndContinue') this.#stop(target, worker, random.int(10, 800))
    else if (kind === 'spinSoft') submit('spinOn', [], ['soft'], { softTimeLimit: ms })
    else if (kind === 'spinCancelled') {
      const spinning = submit('spinOn', [], [], {})
      this.#later(random.int(0, 200), () => load.cancel(spinning))
    } else if (kind === 'respondsToAbort') submit('respondsToAbort', [], ['value', 'soft'], { softTimeLimit: ms })
    else if (kind === 'flood') submit('floods', [random.int(1, 32) * 65_536], ['value'])
    else if (kind === 'cannotBeCopied') submit('cannotBeCopied', [], ['serialization'])
    else if (kind === 'badArgument') submit('echo', [() => {}], ['serialization'])
    else if (kind === 'unknownTask') submit('noSuchTask', [], ['unknown task'])
    else if (kind === 'stall') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, random.int(20, 200))
    else if (kind === 'resize') {
      target.wanted = random.int(Math.max(1, target.size - 1), target.size + 1)
      this.#ledger.resized(target.name)
      target.pool.resize(target.wanted)
    } else if (kind === 'restart') {
      const restart = target.pool.restart()
      this.restarts.add(restart)
      restart.catch((error) => this.#ledger.violation(`restart() of ${target.name} failed: ${error?.stack}`)).finally(() => this.restarts.delete(restart))
    } else if (kind === 'rejectsLater' || kind === 'throwsLater') submit(kind, [], ['value'])
    else if (kind === 'spawns') submit('spawns', [], ['value'])
    else if (kind === 'breaksStream') load.stream(target, true)
    else if (kind === 'signals') this.#signal(worker.pid, random.pick(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']))
    else {
      // The worker may exit before it answers.
      target.pool.stack(worker.id).catch(() => {})
      target.pool.profile(worker.id, 50).catch(() => {})
    }
  }

  #stop(target, worker, ms) {
    const { pid, id } = worker
    this.#stopped.set(pid, id)
    this.#signal(pid, 'SIGSTOP')
    this.#later(ms, () => {
      this.#stopped.delete(pid)
      // The pid may belong to another process by now.
      if (target.pool.stats().workers.some((each) => each.id === id && each.pid === pid && each.state !== 'dead')) this.#signal(pid, 'SIGCONT')
    })
  }
}

const isUp = ({ state, spare, pid }) => (state === 'up' || state === 'busy') && !spare && pid !== undefined
