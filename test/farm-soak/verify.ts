/** Checks what happened to each job: every start is recorded, and each one after the first needs a cause. */
import type { DeadLetter } from '../../src/amqp/index.js'
import type { Journal, Run } from './journal.js'
import { MAX_LOSSES } from './plan.js'
import type { Publication, SoakRecord } from './record.js'

/** ms from a task's end until its acknowledgement has reached the broker, at most: the machine is under full load. */
const ACK_MS = 1_500
/** ms that the workers of a node may outlive it (promise 6). */
const ORPHAN_MS = 2_000
/** ms until a node notices that its connection was cut. */
const NOTICE_MS = 2_000
/** ms after the node has noticed the cut within which a job may still start on a worker. */
const RECALL_MS = 250
/** ms after the death of a worker within which its node has run the job again or dead-lettered it. */
const RERUN_MS = 10_000

export type CauseKind = 'died' | 'cut' | 'stored twice'

interface Cause {
  readonly kind: CauseKind
  readonly at: number
}

export interface Verification {
  readonly violations: string[]
  readonly completed: number
  readonly poisonDead: number
  /** Dead-lettered though they are no poison: they began on too many workers that died. */
  readonly unlucky: { readonly id: string; readonly beginnings: number }[]
  readonly ranOnce: number
  readonly ranAgain: number
  /** Starts beyond the first, by cause, without those of poison. */
  readonly again: Record<CauseKind, number>
  readonly beginningsOfPoison: number
  readonly deadTwice: number
  /** The longest time from the end of a task to a death or cut that made it run again all the same, ms. */
  readonly latestAck: number
}

export const verify = (record: SoakRecord, journal: Journal, letters: readonly DeadLetter[]): Verification => {
  const violations = [...record.errors]
  const dead = new Map<string, DeadLetter[]>()
  for (const each of letters) {
    const id = each.id ?? '(none)'
    if (!record.publications.has(id)) violations.push(`a dead letter that was not published: ${id}, ${each.reason}`)
    dead.set(id, [...(dead.get(id) ?? []), each])
  }
  const again: Verification['again'] = { died: 0, cut: 0, 'stored twice': 0 }
  const unlucky: Verification['unlucky'] = []
  let completed = 0
  let poisonDead = 0
  let ranOnce = 0
  let ranAgain = 0
  let beginningsOfPoison = 0
  let latestAck = 0
  for (const publication of record.publications.values()) {
    const { id, poison } = publication
    const runs = (journal.runs.get(id) ?? []).toSorted((a, b) => a.begin - b.begin)
    const reasons = (dead.get(id) ?? []).map(({ reason }) => reason)
    const seen = new Causes(record, journal, publication, runs)
    latestAck = Math.max(latestAck, seen.latestAck)
    const about = (): string => `${id}: ${JSON.stringify({ runs, publication, reasons, causes: seen.all })}`
    if (seen.unended.length > 0) violations.push(`began, and neither ended nor died: ${about()}`)
    if (reasons.some((reason) => reason !== 'lost')) violations.push(`dead for another reason: ${about()}`)
    if (poison) {
      beginningsOfPoison += runs.length
      if (reasons.length > 0) poisonDead++
      else violations.push(`poison that is not among the dead letters: ${about()}`)
      // Losses are counted for each delivery. A further delivery comes from the death of its node, a cut, or a second copy.
      const nodesDied = new Set(runs.map(({ node }) => node).filter((node) => record.killedNodes.has(node))).size
      const deliveries = 1 + nodesDied + seen.all.filter(({ kind }) => kind !== 'died').length
      if (runs.length > MAX_LOSSES * deliveries) violations.push(`poison began more often than ${MAX_LOSSES} times for each delivery: ${about()}`)
      continue
    }
    const ended = runs.some(({ end }) => end !== undefined)
    if (reasons.length > 0) {
      const died = seen.all.filter(({ kind }) => kind === 'died').length
      if (died >= MAX_LOSSES) unlucky.push({ id, beginnings: runs.length })
      else violations.push(`dead though it began on fewer than ${MAX_LOSSES} workers that died: ${about()}`)
    } else if (ended) completed++
    else violations.push(`vanished: ${about()}`)
    if (runs.length > 1) ranAgain++
    else ranOnce++
    const causes = seen.all.toSorted((a, b) => a.at - b.at)
    if (runs.length - 1 > causes.length) violations.push(`ran ${runs.length} times without a cause for each: ${about()}`)
    for (let n = 0; n < Math.min(runs.length - 1, causes.length); n++) again[causes[n]!.kind]++
  }
  const deadTwice = [...dead.values()].filter((each) => each.length > 1).length
  return { violations, completed, poisonDead, unlucky, ranOnce, ranAgain, again, beginningsOfPoison, deadTwice, latestAck }
}

/** The causes for which one job may have run again. */
class Causes {
  readonly all: Cause[] = []
  /** Starts without an end on workers that are alive: each is a violation. */
  readonly unended: Run[] = []
  #late = 0
  readonly #record: SoakRecord
  readonly #journal: Journal
  readonly #runs: readonly Run[]
  readonly #cutsCounted = new Set<object>()

  constructor(record: SoakRecord, journal: Journal, publication: Publication, runs: readonly Run[]) {
    this.#record = record
    this.#journal = journal
    this.#runs = runs
    for (const run of runs) this.#cuts(run, this.#death(run))
    this.#copies(publication)
  }

  /** When its worker died, if that can have interrupted the run. */
  #death(run: Run): number | undefined {
    const { pid, node, begin, end } = run
    const ofWorker = this.#record.killedWorkers.get(pid) ?? this.#journal.exits.get(pid)
    const ofNode = this.#record.killedNodes.get(node)
    for (const [at, isNode] of [
      [ofWorker, false],
      [ofNode, true],
    ] as const) {
      if (at === undefined || at < begin - (isNode ? ORPHAN_MS : 0) || !this.#inTime(end, at)) continue
      this.all.push({ kind: 'died', at })
      return at
    }
    if (end === undefined) this.unended.push(run)
    return undefined
  }

  /** After a cut the broker redelivers what the node held: jobs that run, that wait to run again after a worker's death, or that are not acknowledged. */
  #cuts(run: Run, died: number | undefined): void {
    const { node, begin, end } = run
    const number = this.#record.nodeNumbers.get(node)
    for (const cut of this.#record.cuts) {
      if (cut.client !== number || this.#cutsCounted.has(cut)) continue
      const noticed = this.#journal.disconnections.get(node)?.find((each) => each >= cut.at - 5 && each <= (cut.until ?? cut.at) + NOTICE_MS) ?? cut.at
      // The time of a cut by the broker's restart is known only from the node's log.
      const at = cut.until === undefined ? cut.at : noticed
      const next = this.#runs.find((each) => each.node === node && each.begin > begin)?.begin
      const held = end === undefined ? at <= Math.max(next ?? 0, (died ?? 0) + RERUN_MS) : this.#inTime(end, at)
      if (begin > noticed + RECALL_MS || !held) continue
      this.#cutsCounted.add(cut)
      this.all.push({ kind: 'cut', at })
    }
  }

  /** ms from the end of the task to the single cause of its second run. */
  get latestAck(): number {
    return this.all.length === 1 ? this.#late : 0
  }

  #copies({ began, confirmed, resent }: Publication): void {
    for (const { at, client, until } of this.#record.cuts) {
      if (client === 'publisher' && (until ?? at) >= began - 5 && at <= (confirmed ?? Number.POSITIVE_INFINITY)) this.all.push({ kind: 'stored twice', at })
    }
    for (let n = 0; n < resent; n++) this.all.push({ kind: 'stored twice', at: began })
  }

  /** The run had not ended at `at`, or its acknowledgement may not have arrived yet. */
  #inTime(end: number | undefined, at: number): boolean {
    if (end === undefined || at <= end) return true
    if (at - end > ACK_MS) return false
    if (this.#runs.some(({ begin }) => begin > at)) this.#late = Math.max(this.#late, at - end)
    return true
  }
}
