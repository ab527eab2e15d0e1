// The faults, struck at a steady rate. A deadly one is chosen whenever the machine has restarted enough of the workers that
// died before, or fewer have died than were asked for; else one that ends nobody.

const DEADLY = {
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
  hoard: 0.7,
}
const HARMLESS = {
  cancel: 30,
  stopAndContinue: 10,
  spinSoft: 6,
  spinCancelled: 4,
  polite: 5,
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
  leavesStream: 3,
  signals: 3,
  stack: 2,
}
/** Of those that could be deadly, this share is not: so that each kind of the others comes all the time. */
const MERCY = 0.15
/** Of the deadly faults that make up for deaths that are behind, this share are signals, which wait in no queue. */
const AT_ONCE = 0.7
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
  #owed = 0
  #stopped = new Map()
  #deadlyPending = 0
  struck = 0
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

  /** Workers that are held by SIGSTOP. */
  get holding() {
    return this.#stopped.size
  }

  #round() {
    const now = performance.now()
    this.#due += ((now - this.#last) * this.#perSecond) / 1000
    this.#owed += ((now - this.#last) * this.#deathsPerSecond) / 1000
    this.#last = now
    for (; this.#due >= 1; this.#due -= 1) this.#strike()
  }

  #strike() {
    const random = this.#random
    const tables = this.#pools.map((target) => ({ target, workers: target.pool.stats().workers }))
    const atWork = tables.reduce((sum, { workers }) => sum + workers.filter(isUp).length, 0)
    const wanted = tables.reduce((sum, { target }) => sum + target.wanted, 0)
    const behind = this.#ledger.counts.deaths + this.#deadlyPending < this.#owed && atWork > 0
    const deadly = behind || (wanted - atWork + this.#deadlyPending < this.#missingAllowed && !random.chance(MERCY))
    const { target, workers } = random.pick(tables)
    let kind = behind && random.chance(AT_ONCE) ? 'kill' : random.weighted(deadly ? DEADLY : HARMLESS)
    // Some need a worker, or a pool, of a certain kind.
    const up = workers.filter((worker) => isUp(worker) && !this.#stopped.has(worker.pid))
    if (kind === 'hoard' && !target.memory) kind = 'exit'
    if (kind === 'freeze' && !target.freezes) kind = 'segv'
    const worker = up.length === 0 ? undefined : random.pick(up)
    if (worker === undefined && ['kill', 'freeze', 'stopAndContinue', 'signals', 'stack'].includes(kind)) kind = deadly ? 'abort' : 'cannotBeCopied'
    if ((kind === 'kill' || kind === 'freeze') && worker.jobs === 0 && worker.running === 0 && !this.#ledger.mayKillUnproven(target.name)) kind = 'exit'
    this.struck += 1
    this.kinds[kind] = (this.kinds[kind] ?? 0) + 1
    if (deadly) this.#deadly(kind, target, worker)
    else this.#harmless(kind, target, worker)
  }

  #signal(pid, signal) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }

  /** A job that is bound to end its worker. */
  #doomed(target, task, args, plan, options = {}) {
    this.#deadlyPending += 1
    plan.settled = () => {
      this.#deadlyPending -= 1
    }
    const more = this.#random.chance(0.3) ? { priority: this.#random.int(0, 3) } : {}
    return this.#load.submit(target, task, args, { retry: 0, may: [], ...plan, kind: task }, { ...more, ...options })
  }

  #later(ms, act) {
    setTimeout(act, ms)
  }

  #deadly(kind, target, worker) {
    const random = this.#random
    const ms = random.int(10, 40)
    if (kind === 'kill') {
      this.#ledger.struck(target.name, worker.id, 'SIGKILL')
      this.#signal(worker.pid, 'SIGKILL')
    } else if (kind === 'freeze') {
      this.#ledger.struck(target.name, worker.id, 'frozen')
      this.#stop(target, worker, 5_000)
    } else if (kind === 'exit') this.#doomed(target, 'exits', [random.int(0, 9)], {})
    else if (kind === 'segv') this.#doomed(target, 'signals', ['SIGSEGV'], {})
    else if (kind === 'killSelf') this.#doomed(target, 'signals', ['SIGKILL'], {})
    else if (kind === 'abort') this.#doomed(target, 'aborts', [], {})
    else if (kind === 'exhaust') this.#doomed(target, 'exhausts', [], {})
    else if (kind === 'hoard') this.#doomed(target, 'hoards', [], { may: ['memory'] })
    else if (kind === 'spinHard') this.#doomed(target, random.pick(['spinOn', 'spinLater']), [], { may: ['hard'] }, { timeLimit: ms })
    else if (kind === 'neverHard') this.#doomed(target, 'deaf', [], { may: ['hard'] }, { timeLimit: ms })
    else if (kind === 'spinLaterSoft') this.#doomed(target, 'spinLater', [], { may: ['soft'] }, { softTimeLimit: ms })
    else if (kind === 'neverSoft') this.#doomed(target, 'deaf', [], { may: ['soft'] }, { softTimeLimit: ms })
    else if (kind === 'neverCancelled') {
      const doomed = this.#doomed(target, random.pick(['deaf', 'spinLater']), [], {})
      this.#later(random.int(0, 300), () => this.#load.cancel(doomed))
    } else if (kind === 'answersAndDies') this.#doomed(target, 'answersAndDies', [], { may: ['value'] })
    else if (kind === 'diesUntil') {
      const retry = random.int(0, 3)
      this.#doomed(target, 'diesUntil', [random.int(1, 3), random.int(0, 10)], { retry, may: ['value'] }, retry > 0 ? { retryLost: retry } : {})
    } else if (kind === 'closesPipe') this.#doomed(target, 'closesPipe', [random.int(3, 5)], { may: ['value'] })
    else this.#doomed(target, 'junk', [4, random.int(1, 5000)], { may: ['value'] })
  }

  #harmless(kind, target, worker) {
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
    } else if (kind === 'polite') submit('polite', [], ['value', 'soft'], { softTimeLimit: ms })
    else if (kind === 'flood') submit('floods', [random.int(1, 32) * 65_536], ['value'])
    else if (kind === 'cannotBeCopied') submit('cannotBeCopied', [], ['serialization'])
    else if (kind === 'badArgument') submit('echo', [() => {}], ['serialization'])
    else if (kind === 'unknownTask') submit('noSuchTask', [], ['unknown task'])
    else if (kind === 'stall') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, random.int(20, 200))
    else if (kind === 'resize') {
      target.wanted = random.int(Math.max(1, target.size - 1), target.size + 1)
      target.pool.resize(target.wanted)
    } else if (kind === 'restart') {
      const restart = target.pool.restart()
      this.restarts.add(restart)
      restart.catch((error) => this.#ledger.violation(`restart() of ${target.name} failed: ${error?.stack}`)).finally(() => this.restarts.delete(restart))
    } else if (kind === 'rejectsLater' || kind === 'throwsLater') submit(kind, [], ['value'])
    else if (kind === 'spawns') submit('spawns', [], ['value'])
    else if (kind === 'leavesStream') load.stream(target, true)
    else if (kind === 'signals') this.#signal(worker.pid, random.pick(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']))
    else {
      // It may be gone before it has answered.
      target.pool.stack(worker.id).catch(() => {})
    }
  }

  #stop(target, worker, ms) {
    const { pid, id } = worker
    this.#stopped.set(pid, id)
    this.#signal(pid, 'SIGSTOP')
    this.#later(ms, () => {
      this.#stopped.delete(pid)
      // The number may belong to another by now, whom it would not harm.
      if (target.pool.stats().workers.some((each) => each.id === id && each.pid === pid && each.state !== 'dead')) this.#signal(pid, 'SIGCONT')
    })
  }
}

const isUp = ({ state, spare, pid }) => (state === 'up' || state === 'busy') && !spare && pid !== undefined
