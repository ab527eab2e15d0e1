import type { Command } from '../../runtime/report/commands.js'
import { isNodeSnapshot } from '../../runtime/report/read-report.js'
import type { NodeSnapshot } from '../../runtime/report/report.js'
import { FarmModel } from './farm-model.js'
import type { FarmSource } from './farm-source.js'
import type { NodeModel } from './node-model.js'

/** ms between two reads of a node whose jobs are not what it says, at least. */
const REPAIR_INTERVAL = 10_000

/** The model of the nodes of a source, kept up to date, and the commands to them. */
export class LiveFarm {
  readonly model: FarmModel
  readonly #source: FarmSource
  readonly #clock: () => number
  /** When the jobs of a node were last read because an end was missed. */
  readonly #repaired = new WeakMap<NodeModel, number>()

  /** `clock`: ms since the epoch. */
  constructor(source: FarmSource, clock: () => number = Date.now) {
    this.#source = source
    this.model = new FarmModel(() => source.connected !== false)
    this.#clock = clock
  }

  now(): number {
    return this.#clock()
  }

  /** Calls `changed` whenever the model has. */
  async open(changed: () => void): Promise<void> {
    await this.#source.open((event) => {
      const known = this.model.get(event.node) !== undefined
      this.model.apply(event, this.now())
      changed()
      // Jobs from before.
      if (!known || this.#needsRepair(event.node)) this.refresh(event.node).then(changed, () => {})
    })
  }

  /** At most once in an interval: a node that cannot be read, or says the same again, is not asked with each heartbeat. */
  #needsRepair(name: string): boolean {
    const node = this.model.get(name)
    if (node?.missedEnds !== true || Math.abs(this.now() - (this.#repaired.get(node) ?? 0)) < REPAIR_INTERVAL) return false
    this.#repaired.set(node, this.now())
    return true
  }

  /** Sends a command to a node, and resolves with its answer. Rejects when it refuses or does not answer. */
  ask(node: string, command: Command): Promise<unknown> {
    return this.#source.ask(node, command)
  }

  /** Reads the statistics and the last jobs of a node again. */
  async refresh(node: string): Promise<void> {
    this.model.get(node)?.applySnapshot(await this.#snapshot(node, {}))
  }

  /** Reads what a node knows of one job, with its arguments, stack and output. */
  async refreshJob(node: string, id: string): Promise<void> {
    this.model.get(node)?.applyJob(await this.#snapshot(node, { id }))
  }

  async #snapshot(node: string, which: { id?: string }): Promise<NodeSnapshot> {
    const answer = await this.ask(node, { command: 'snapshot', ...which })
    if (!isNodeSnapshot(answer)) throw new Error('the answer is not what this version reads')
    return answer
  }

  close(): Promise<void> {
    return this.#source.close()
  }
}
