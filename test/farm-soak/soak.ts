/** Two nodes on one queue run jobs while processes are killed and connections cut, until every job has ended. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'amqplib'
import { createPublisher, type DeadLetter, listDeadLetters, type Publisher } from '../../src/amqp/index.js'
import { type TcpProxy, tcpProxy } from '../amqp/tcp-proxy.js'
import { Journal } from './journal.js'
import { NodeProcess } from './node-process.js'
import { MAX_LOSSES, NODES, PREFETCH_PER_WORKER, type Random, randomOf, type SoakPlan, WORKERS } from './plan.js'
import { type Cut, newRecord, type SoakRecord } from './record.js'
import { type Verification, verify } from './verify.js'

/** Jobs published that have not ended, at most: publishing goes on during the faults. */
const MAX_OPEN = 400
const POLL_MS = 250
/** ms without progress after which the soak fails. */
const STUCK_MS = 120_000

export interface SoakReport extends Verification {
  readonly seconds: number
  readonly workersKilled: number
  readonly nodesKilled: number
  readonly cuts: number
  readonly brokerRestarts: number
  readonly nodeStarts: number
  readonly recognised: number
  /** Messages left in the queue at the end. */
  readonly left: number
  readonly journal: string
}

export type Progress = (line: string) => void

export const runFarmSoak = async (plan: SoakPlan, progress: Progress, keepJournal = false): Promise<SoakReport> => {
  const soak = new Soak(plan, progress)
  try {
    return await soak.run()
  } finally {
    await soak.cleanUp(keepJournal)
  }
}

class Soak {
  readonly #plan: SoakPlan
  readonly #progress: Progress
  readonly #random: Random
  readonly #record: SoakRecord = newRecord()
  readonly #directory = mkdtempSync(join(tmpdir(), 'prefork-farm-soak-'))
  readonly #path = join(this.#directory, 'journal')
  readonly #journal = new Journal(this.#path)
  readonly #queue = `soak.${randomBytes(6).toString('hex')}`
  readonly #nodes: NodeProcess[] = []
  readonly #proxies: TcpProxy[] = []
  #publisherProxy: TcpProxy | undefined
  #publisher: Publisher | undefined
  #restarts = 0
  #restarting: Promise<void> | undefined
  #ended = 0
  #faultsActive = true
  readonly #work: Promise<unknown>[] = []

  constructor(plan: SoakPlan, progress: Progress) {
    this.#plan = plan
    this.#progress = progress
    this.#random = randomOf(plan.seed)
  }

  async run(): Promise<SoakReport> {
    const began = performance.now()
    await this.#open()
    const watching = this.#watch()
    const faults = Promise.all([this.#kills(), this.#cuts()])
    this.#work.push(faults, this.#restart())
    await this.#publish(faults)
    await watching
    this.#faultsActive = false
    await Promise.all(this.#work)
    const letters = await this.#settle()
    const { killedWorkers, killedNodes, cuts } = this.#record
    const seconds = (performance.now() - began) / 1_000
    for (const down of await Promise.all(this.#nodes.map((node) => node.shutdown())))
      if (down?.clean !== true) this.#record.errors.push(`a node with nothing to do did not shut down cleanly: ${JSON.stringify(down)}`)
    return {
      ...verify(this.#record, this.#journal.update(), letters),
      seconds,
      workersKilled: killedWorkers.size,
      nodesKilled: killedNodes.size,
      cuts: cuts.length - this.#restarts * (NODES + 1),
      brokerRestarts: this.#restarts,
      nodeStarts: this.#nodes.reduce((sum, { starts }) => sum + starts, 0),
      recognised: this.#nodes.reduce((sum, { recognised }) => sum + recognised, 0),
      left: await this.#left(),
      journal: this.#path,
    }
  }

  async #open(): Promise<void> {
    const { url } = this.#plan
    this.#publisherProxy = await tcpProxy(url)
    this.#publisher = await createPublisher({ url: this.#publisherProxy.url, queue: this.#queue })
    const env = { ...process.env, PREFORK_SOAK_JOURNAL: this.#path }
    for (let number = 0; number < NODES; number++) {
      const proxy = await tcpProxy(url)
      this.#proxies.push(proxy)
      const options = {
        url: proxy.url,
        queue: this.#queue,
        controlExchange: `${this.#queue}.control`,
        eventExchange: `${this.#queue}.events`,
        minWorkers: WORKERS,
        maxWorkers: WORKERS,
        concurrency: PREFETCH_PER_WORKER,
        prefetchPerWorker: PREFETCH_PER_WORKER,
        maxLosses: MAX_LOSSES,
      }
      const node = new NodeProcess(number, options, env, this.#record)
      this.#nodes.push(node)
      node.start()
    }
    await this.#until('the nodes are up', () => this.#nodes.every(({ up }) => up))
  }

  // ---- the load

  async #publish(faults: Promise<unknown>): Promise<void> {
    const { jobs, poisonEvery, longest, maxKills, maxCuts } = this.#plan
    for (let n = 1; n <= jobs; n++) {
      // With a fixed number of faults, all of them must happen while jobs run.
      if (n > jobs * 0.8 && Number.isFinite(maxKills + maxCuts)) await faults
      while (n - this.#ended > MAX_OPEN) await delay(5)
      const poison = n % poisonEvery === 0
      const publication = { id: `${poison ? 'poison' : 'job'}-${n}`, poison, began: Date.now(), confirmed: undefined, resent: 0 }
      this.#record.publications.set(publication.id, publication)
      this.#work.push(this.#send(publication, this.#random.int(0, longest)))
      if (n % 20 === 0) await delay(0)
    }
  }

  async #send(publication: { id: string; poison: boolean; confirmed: number | undefined; resent: number }, ms: number): Promise<void> {
    for (;;) {
      try {
        await this.#publisher!.publish(publication.poison ? 'poison' : 'nap', [ms], { messageId: publication.id })
        publication.confirmed = Date.now()
        return
      } catch {
        publication.resent++
        await delay(100)
      }
    }
  }

  // ---- faults

  async #kills(): Promise<void> {
    const { killEvery, nodeShare, maxKills } = this.#plan
    for (let n = 0; n < maxKills; n++) {
      await delay(killEvery)
      if (!this.#faultsActive) return
      if (!(this.#random.chance(nodeShare) && this.#random.pick(this.#nodes.filter(({ up }) => up))?.kill())) await this.#killWorker()
    }
  }

  /** Tries until it hits one that is alive: the nodes' reports are up to a second old. */
  async #killWorker(): Promise<void> {
    const { killedWorkers } = this.#record
    for (let tries = 0; tries < 40 && this.#faultsActive; tries++) {
      const pid = this.#random.pick(this.#nodes.filter(({ up }) => up).flatMap(({ workers }) => workers.filter((each) => !killedWorkers.has(each))))
      try {
        if (pid !== undefined && process.kill(pid, 'SIGKILL')) {
          killedWorkers.set(pid, Date.now())
          return
        }
      } catch {
        // It has died since the report.
      }
      await delay(20)
    }
  }

  async #cuts(): Promise<void> {
    const { cutEvery, maxCuts } = this.#plan
    for (let n = 0; n < maxCuts; n++) {
      await delay(cutEvery * (0.5 + this.#random.int(0, 100) / 100))
      if (!this.#faultsActive) return
      // The publisher's connection is cut as well: its confirms are lost.
      const target = this.#random.int(0, NODES)
      const proxy = target === NODES ? this.#publisherProxy! : this.#proxies[target]!
      this.#record.cuts.push({ at: Date.now(), client: target === NODES ? 'publisher' : target })
      proxy.cut()
    }
  }

  async #restart(): Promise<void> {
    const { restartBroker, jobs } = this.#plan
    if (restartBroker === undefined) return
    while (this.#ended < jobs / 2) await delay(POLL_MS)
    this.#progress('the broker is restarted')
    const at = Date.now()
    const cuts = [...this.#nodes.map(({ number }) => number), 'publisher' as const].map((client): Cut => ({ at, client }))
    this.#record.cuts.push(...cuts)
    this.#restarts++
    this.#restarting = restartBroker()
    await this.#restarting
    for (const cut of cuts) cut.until = Date.now()
    this.#progress('the broker is back')
  }

  // ---- the end

  /** Resolves when every job has ended or is among the dead letters. */
  async #watch(): Promise<void> {
    let last = performance.now()
    let reportedAt = performance.now()
    for (;;) {
      await delay(POLL_MS)
      const before = this.#ended
      const { ended } = this.#journal.update()
      const open = new Set([...this.#record.publications.keys()].filter((id) => !ended.has(id)))
      const { size } = this.#record.publications
      // Dead letters are read only when few jobs are open.
      if (size === this.#plan.jobs && open.size <= this.#plan.jobs / this.#plan.poisonEvery + 50)
        for (const { id } of await this.#deadLetters().catch((): DeadLetter[] => [])) open.delete(id ?? '')
      this.#ended = size - [...open].filter((id) => !id.startsWith('poison')).length
      if (size === this.#plan.jobs && open.size === 0) return
      if (this.#ended > before) last = performance.now()
      if (performance.now() - last > STUCK_MS) {
        this.#record.errors.push(`no progress for ${STUCK_MS / 1_000} s; open: ${[...open].slice(0, 20).join(', ')}`)
        return
      }
      if (performance.now() - reportedAt > 10_000) {
        reportedAt = performance.now()
        const { killedWorkers, killedNodes, cuts, errors } = this.#record
        this.#progress(
          `${this.#ended} of ${this.#plan.jobs} ended; ${killedWorkers.size} workers and ${killedNodes.size} nodes killed, ${cuts.length} cuts, ${errors.length} errors`,
        )
      }
    }
  }

  /** Waits until copies that were stored twice have run as well. Resolves with the dead letters. */
  async #settle(): Promise<DeadLetter[]> {
    await this.#restarting
    await this.#until(
      'the queue is empty and nothing is held',
      async () => (await this.#left()) === 0 && this.#nodes.every(({ up, figures }) => up && figures?.held === 0),
    )
    return await this.#deadLetters()
  }

  #deadLetters(): Promise<DeadLetter[]> {
    return listDeadLetters({ url: this.#plan.url, queue: this.#queue, limit: 10_000 })
  }

  async #left(): Promise<number> {
    const connection = await connect(this.#plan.url)
    try {
      const channel = await connection.createChannel()
      return (await channel.checkQueue(this.#queue)).messageCount
    } finally {
      await connection.close()
    }
  }

  async #until(what: string, met: () => boolean | Promise<boolean>): Promise<void> {
    const end = performance.now() + STUCK_MS
    while (!(await met())) {
      if (performance.now() > end) {
        this.#record.errors.push(`gave up waiting until ${what}`)
        return
      }
      await delay(POLL_MS)
    }
  }

  async cleanUp(keepJournal: boolean): Promise<void> {
    this.#faultsActive = false
    for (const node of this.#nodes) node.terminate()
    this.#journal.close()
    await this.#publisher?.close().catch(() => {})
    await Promise.all([...this.#proxies, this.#publisherProxy].map((proxy) => proxy?.close()))
    const connection = await connect(this.#plan.url)
    const channel = await connection.createChannel()
    for (const each of [this.#queue, `${this.#queue}.dlq`]) await channel.deleteQueue(each)
    for (const each of ['control', 'events']) await channel.deleteExchange(`${this.#queue}.${each}`)
    await connection.close()
    if (!keepJournal) rmSync(this.#directory, { recursive: true, force: true })
  }
}
