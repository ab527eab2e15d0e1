/** The commands of a run: what users ask for, and what goes wrong. */
import type { Operation } from '../../../src/queue/store/sqlite/protocol.js'
import { JOB_STATES, type JobChange, type JobSelector, type JobState, type NewJob, type StoredOptions } from '../../../src/queue/store/store.js'
import { Random } from '../../simulation/random.js'
import { BrokerHost } from './broker-host.js'
import { Faults, HOUR } from './faults.js'
import { FileProcess } from './file-process.js'
import { type Host, QUEUES, SimHost, TASKS } from './host.js'
import type { Machine, SimProcess } from './process.js'

/** Nobody asks for anything for so long, ms: what is to be done then is done by those that time wakes. */
const QUIET = 6_000
/** Jobs that a process has at a time which starts at the end of a run: it ends all that is left. */
const END_WIDTH = 10
/** Most are kept for a short time only: each commit is compared with all that is stored. */
const KEEPS: readonly StoredOptions['keep'][] = [
  undefined,
  { completed: { count: 0 } },
  { completed: { count: 2 }, failed: { count: 1 } },
  ...new Array<StoredOptions['keep']>(5).fill({ completed: { count: 6 }, failed: { count: 4 } }),
  { completed: { age: 700 }, failed: { age: 100 } },
]

/** The states of the jobs that users change, mostly. */
const USUAL_STATES: Readonly<Record<JobChange, readonly JobState[]>> = {
  cancel: ['active', 'active', 'active', 'waiting', 'blocked'],
  retry: ['failed', 'failed', 'cancelled', 'expired'],
  promote: ['delayed'],
  remove: ['completed', 'failed', 'waiting', 'blocked'],
}

export class Script {
  readonly #machine: Machine
  readonly #start: (name: string) => SimProcess
  readonly #width: number
  readonly #faults: Faults
  readonly #hosts: Host[] = []
  readonly #ids: { readonly queue: string; readonly id: string; readonly isAlone: boolean }[] = []
  #names = 0
  #jobs = 0
  #random = new Random(0)
  /** What passes until the next command, ms. */
  #pause = 0
  #isEnding = false
  #isClosed = false

  constructor(machine: Machine, processes: number, width: number, start: (name: string) => SimProcess) {
    this.#machine = machine
    this.#faults = new Faults(machine)
    this.#start = start
    this.#width = width
    for (let index = 0; index < processes; index++) this.#startProcess()
  }

  #startProcess(): void {
    if (this.#isClosed) return
    const name = `p${++this.#names}`
    const { world, checker } = this.#machine
    let process: SimProcess
    try {
      process = this.#start(name)
    } catch (error) {
      // Another one has been at the disk for longer than an opening waits.
      if ((error as { code?: unknown }).code !== 'ERR_PREFORK_STORE_UNUSABLE') throw error
      checker.coverage.add('a start was refused, as the file was locked')
      world.schedule(500, () => this.#startProcess())
      return
    }
    checker.processes.set(name, process)
    world.trace(`${name} starts`)
    // One that only adds, or claims from few queues, or has no schedulers.
    const schedulers = this.#isEnding || !world.random.chance(0.25)
    const queues = this.#isEnding || world.random.chance(0.7) ? QUEUES : [world.random.pick(QUEUES)]
    const host = new (world.random.chance(0.5) ? BrokerHost : SimHost)(process, { queues, schedulers, width: this.#isEnding ? END_WIDTH : this.#width })
    this.#hosts.push(host)
    process.atDeath.add(() => {
      this.#hosts.splice(this.#hosts.indexOf(host), 1)
      world.schedule(world.random.pick([50, 400, 2_000]), () => this.#startProcess())
    })
  }

  get #processes(): SimProcess[] {
    return this.#hosts.map(({ process }) => process)
  }

  /** Plays one command, and lets some time pass. */
  async step(number: number): Promise<void> {
    this.#random = new Random(number)
    const random = this.#random
    const process = this.#processes.length === 0 ? undefined : random.pick(this.#processes)
    this.#pause = random.chance(0.02) ? QUIET : random.pick([0, 0, 1, 5, 20, 100, 400, 1_500])
    if (process !== undefined) this.#command(process)
    await this.#pass(this.#pause)
  }

  async #pass(ms: number): Promise<void> {
    const { world } = this.#machine
    await world.runUntil(world.now + ms)
  }

  #command(process: SimProcess): void {
    const random = this.#random
    const roll = random.below(100)
    if (roll < 26) this.#add(process, random.between(1, 3))
    else if (roll < 32) this.#add(process, random.between(4, 9))
    else if (roll < 42) this.#flow(process)
    else if (roll < 44) this.#badBulk(process)
    else if (roll < 58) this.#alter(process)
    else if (roll < 64) this.#changeDependency(process)
    else if (roll < 68) this.#pauseQueue(process)
    else if (roll < 71) this.#limit(process)
    else if (roll < 75) this.#schedule(process)
    else this.#pause = this.#faults.happen(random, process, this.#hosts) ?? this.#pause
  }

  // ---- jobs

  #job(queue: string, given: Partial<NewJob> = {}, isAlone = false): NewJob {
    const random = this.#random
    const now = this.#machine.checker.wall()
    const delay = random.chance(0.25) ? random.pick([10, 200, 3_000]) : undefined
    const isRelative = random.chance(0.6)
    const task = random.pick(TASKS)
    const job: NewJob = {
      id: `job ${++this.#jobs}`,
      queue,
      task,
      // What a host of the broker knows of the task.
      body: Buffer.from(task),
      options: withKeep(random.pick(KEEPS)),
      priority: random.chance(0.2) ? random.between(-2, 2) : 0,
      runAt: delay === undefined ? undefined : now + delay,
      relative: delay !== undefined && isRelative,
      expiresAt: random.chance(0.15) ? now + random.pick([5, 100, 4_000]) + (delay ?? 0) : undefined,
      dependsOn: [],
      onFailedDependency: random.chance(0.6) ? 'fail' : 'run',
      dedup: undefined,
      ...given,
    }
    this.#ids.push({ queue, id: job.id, isAlone })
    return job
  }

  #add(process: SimProcess, count: number): void {
    const random = this.#random
    const queue = random.pick(QUEUES)
    const known = this.#ids.filter((each) => each.queue === queue).slice(-30)
    const jobs = Array.from({ length: count }, () => {
      const dedup = count === 1 && random.chance(0.15) ? { key: `key ${random.below(3)}`, ttl: random.pick([undefined, 500, 5_000]) } : undefined
      const dependsOn = count === 1 && known.length > 0 && random.chance(0.3) ? [this.#dependency(queue, known)] : []
      const again = known.filter(({ isAlone }) => isAlone)
      const isAgain = count === 1 && again.length > 0 && random.chance(0.3)
      return this.#job(queue, { dedup, dependsOn, ...(isAgain ? { id: random.pick(again).id, dependsOn: [] } : {}) }, count === 1)
    })
    process.ask({ op: 'add', jobs })
  }

  /** Often one that runs: its claim does not know that another waits for it. */
  #dependency(queue: string, known: readonly { readonly id: string }[]): string {
    const active = [...this.#machine.checker.snapshot.jobs.values()].filter((job) => job.queue === queue && job.state === 'active')
    return this.#random.pick(active.length > 0 && this.#random.chance(0.7) ? active : known).id
  }

  /** A parent and its children, some with children of their own. */
  #flow(process: SimProcess): void {
    const random = this.#random
    const queue = random.pick(QUEUES)
    const jobs: NewJob[] = []
    for (let index = random.between(1, 6); index >= 0; index--) {
      const before = jobs.map(({ id }) => id).filter(() => random.chance(0.4))
      const isLast = index === 0
      jobs.push(this.#job(queue, { dependsOn: isLast ? jobs.map(({ id }) => id) : before }))
    }
    process.ask({ op: 'add', jobs })
  }

  #badBulk(process: SimProcess): void {
    const queue = this.#random.pick(QUEUES)
    const jobs = [this.#job(queue), this.#job(queue), this.#job(queue, { dependsOn: ['of nobody'] }), this.#job(queue)]
    process.ask({ op: 'add', jobs })
  }

  #alter(process: SimProcess): void {
    const random = this.#random
    const change = random.pick<JobChange>(['cancel', 'cancel', 'cancel', 'cancel', 'retry', 'retry', 'retry', 'promote', 'remove'])
    // Users cancel above all what does not come to an end.
    const hard = [...this.#machine.checker.snapshot.jobs.values()].filter(({ state, task }) => state === 'active' && task !== 'ok')
    const chosen = change === 'cancel' && hard.length > 0 && random.chance(0.7) ? random.pick(hard) : undefined
    const queue = chosen?.queue ?? random.pick(QUEUES)
    process.ask({ op: 'alter', selector: chosen === undefined ? this.#selector(queue, change) : { queue, ids: [chosen.id] }, change })
    // Its loss is one of the ways in which a claim of a cancelled job ends.
    if (change === 'cancel' && random.chance(0.15)) random.pick(this.#processes).kill()
  }

  #selector(queue: string, change: JobChange): JobSelector {
    const random = this.#random
    const ids = this.#ids.filter((each) => each.queue === queue).slice(-25)
    const kind = random.below(10)
    if (kind < 3 && ids.length > 0) return { queue, ids: [random.pick(ids).id, random.pick(ids).id] }
    if (kind < 4) return { queue, states: [random.pick(JOB_STATES)], limit: 5 }
    return { queue, states: [random.pick(USUAL_STATES[change])], limit: random.between(1, 3) }
  }

  /** A user cancels one of several jobs that another waits for, or lets it run again. */
  #changeDependency(process: SimProcess): void {
    const { jobs } = this.#machine.checker.snapshot
    const blocked = [...jobs.values()].filter(({ state, tolerant, dependsOn }) => state === 'blocked' && tolerant && dependsOn.length > 1)
    if (blocked.length === 0) return
    const { queue, dependsOn } = this.#random.pick(blocked)
    const before = dependsOn.flatMap((seq) => jobs.get(seq) ?? [])
    const failed = before.find(({ state }) => state === 'failed' || state === 'cancelled')
    const { id } = failed ?? before[0]!
    process.ask({ op: 'alter', selector: { queue, ids: [id] }, change: failed === undefined ? 'cancel' : 'retry' })
  }

  /** Mostly one whose jobs are held and have not begun, and one that is paused goes on. Some are paused twice. What was held is to be back soon. */
  #pauseQueue(process: SimProcess): void {
    const random = this.#random
    const { jobs, queues } = this.#machine.checker.snapshot
    const held = [...jobs.values()].filter(({ state, begun }) => state === 'active' && begun === 0)
    const name = held.length > 0 && random.chance(0.7) ? random.pick(held).queue : random.pick(QUEUES)
    const paused = queues.get(name)?.paused !== true && random.chance(0.7)
    const set = (to: boolean): void => process.ask({ op: 'queue', name, set: { paused: to } })
    set(paused)
    if (!paused || random.chance(0.4)) return
    this.#pause = QUIET
    if (random.chance(0.5)) return
    const more = Array.from({ length: 8 }, () => this.#job(name))
    process.inHost(600, () => set(false))
    process.inHost(600, () => process.ask({ op: 'add', jobs: more }))
    process.inHost(1_200, () => set(true))
    this.#pause = QUIET + 1_200
  }

  /** With a limit, and more jobs than it lets begin at once: nothing but time lets the others begin. */
  #limit(process: SimProcess): void {
    const random = this.#random
    const queue = random.pick(QUEUES)
    const rate = random.pick(['10/s', '3/s', null, null])
    process.ask({ op: 'queue', name: queue, set: { rate } })
    if (rate === null || random.chance(0.5)) return
    process.ask({ op: 'add', jobs: Array.from({ length: 12 }, () => this.#job(queue)) })
    this.#pause = QUIET
  }

  #schedule(process: SimProcess): void {
    const random = this.#random
    const schedules = [...this.#machine.checker.snapshot.schedules]
    if (schedules.length > 0 && random.chance(0.3)) {
      // A user adds a job of the id that the next tick would give to its own.
      const [name, { nextAt }] = random.pick(schedules)
      const [queue = '', key] = name.split(/ (.*)/)
      process.ask({ op: 'add', jobs: [this.#job(queue, { id: `${key}:${nextAt}` })] })
      return
    }
    const queue = random.pick(QUEUES)
    const key = `tick ${random.below(3)}`
    const schedule = random.chance(0.3)
      ? null
      : {
          every: random.pick([300, 1_000, 2_500]),
          catchUp: random.pick(['one', 'none', 'all'] as const),
          task: 'ok',
          body: Buffer.from('ok'),
          options: withKeep(random.pick(KEEPS)),
          priority: 0,
        }
    process.ask({ op: 'schedule', queue, key, schedule } as Operation)
  }

  // ---- the end

  /** All is well again: everything must end. */
  async settle(): Promise<void> {
    const machine = this.#machine
    const { checker } = machine
    this.#isEnding = true
    machine.lockedUntil = 0
    machine.fullUntil = 0
    for (const process of this.#processes) {
      process.continue()
      process.silent = false
      if (process instanceof FileProcess) {
        process.commitFault = undefined
        process.statementsLeft = Number.POSITIVE_INFINITY
      }
    }
    // What was to run at a time of a clock that was set back runs now. One of the processes claims from all queues.
    this.#startProcess()
    if (this.#processes.some((process) => process instanceof FileProcess)) {
      this.#faults.setClock(4 * HOUR)
    }
    for (let second = 0; second < 180 && checker.violations.length === 0; second++) {
      const process = this.#processes.at(-1)
      if (second < 3 || second % 20 === 0) this.#open(process)
      await this.#pass(1_000)
      if (second >= 20 && second % 10 === 0) this.#promote(process)
      if (this.#isDone()) break
    }
    if (checker.violations.length > 0) return
    const { jobs, sessions } = checker.snapshot
    for (const { id, state, session } of jobs.values()) checker.check(isOver(state), () => `${id} never ends: it is ${state} ${session ?? ''}`)
    const alive = new Set(this.#processes.map(({ name }) => name))
    for (const name of sessions.keys())
      checker.check(alive.has(name.slice(0, name.indexOf('.'))), () => `the session ${name} of a dead process is never removed`)
  }

  /** Nothing keeps a job any more. */
  #open(process: SimProcess | undefined): void {
    for (const name of process === undefined ? [] : QUEUES) {
      process!.ask({ op: 'queue', name, set: { paused: false, rate: null } })
      for (const key of [0, 1, 2]) process!.ask({ op: 'schedule', queue: name, key: `tick ${key}`, schedule: null })
    }
  }

  /** A delay that was asked for just before the clock jumped is off by the jump: it may be hours. What is due has been let go by now. */
  #promote(process: SimProcess | undefined): void {
    const { checker } = this.#machine
    const late = [...checker.snapshot.jobs.values()].find(({ state, dueAt }) => state === 'delayed' && (dueAt ?? 0) < checker.wall() - 10_000)
    checker.check(late === undefined, () => `${late!.id} has been due for 10 s, and is delayed`)
    for (const queue of process === undefined ? [] : QUEUES) process!.ask({ op: 'alter', selector: { queue, states: ['delayed'] }, change: 'promote' })
  }

  #isDone(): boolean {
    const { jobs, sessions, schedules } = this.#machine.checker.snapshot
    const alive = new Set(this.#processes.map(({ name }) => name))
    return (
      schedules.size === 0 &&
      [...jobs.values()].every(({ state }) => isOver(state)) &&
      [...sessions.keys()].every((name) => alive.has(name.slice(0, name.indexOf('.'))))
    )
  }

  /** All processes end in order. */
  async close(): Promise<void> {
    const { checker, world } = this.#machine
    const hosts = [...this.#hosts]
    world.trace('all end')
    this.#isClosed = true
    for (const host of hosts) host.close()
    await this.#pass(5_000)
    checker.check(this.#hosts.length === 0, () => `${this.#processes.map(({ name }) => name).join(', ')} never ends`)
    checker.check(checker.snapshot.sessions.size === 0, () => `sessions are left: ${[...checker.snapshot.sessions.keys()].join(', ')}`)
  }
}

const isOver = (state: string): boolean => state !== 'waiting' && state !== 'delayed' && state !== 'active' && state !== 'blocked'

const withKeep = (keep: StoredOptions['keep']): StoredOptions => (keep === undefined ? {} : { keep })
