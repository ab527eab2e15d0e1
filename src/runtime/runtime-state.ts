import type { PoolLogger } from '../pool/types.js'
import type { ActiveJob } from './active-job.js'
import { BoundedMap } from './bounded-map.js'
import type { Delivery } from './delivery.js'
import { Generations } from './generations.js'
import type { RuntimePool, RuntimeSettings } from './options.js'
import { PathOptions } from './path-tasks/path-options.js'
import { Policy } from './policy.js'
import { RateLimits } from './rate-limits.js'
import type { FarmEventBody, NodeStats } from './report/report.js'
import { TaskHistory } from './report/task-history.js'
import { type Outcome, Settler } from './settler.js'
import { SlotMap } from './slot-map.js'
import { UnsentReplies } from './unsent-replies.js'

/** What the parts of one runtime share. */
export class RuntimeState {
  /** 'paused', 'closing': nothing begins; what is delivered is given back. */
  phase: 'open' | 'paused' | 'closing' = 'open'
  /** Jobs in this node's hands, by id: never two under one id. */
  readonly active = new SlotMap<ActiveJob>()
  /** Outcomes by the identity of their delivery. */
  readonly finished: BoundedMap<Outcome>
  /** Identities under which a second message came before the first was settled: whose a redelivery is cannot be told. */
  readonly shared: BoundedMap<true>
  /** Ids that were revoked. */
  readonly revoked: BoundedMap<true>
  readonly totals: NodeStats['totals'] = { received: 0, succeeded: 0, failed: 0, retried: 0, revoked: 0, lost: 0, deadLettered: 0, recognised: 0 }
  /** Failed jobs by worker. */
  readonly failures = new Map<number, number>()
  readonly limits = new RateLimits()
  readonly tasks: TaskHistory
  readonly pathOptions: PathOptions
  readonly policy: Policy
  readonly settler: Settler
  readonly generations: Generations

  constructor(
    readonly pool: RuntimePool,
    readonly settings: RuntimeSettings,
    onGone: (held: ActiveJob) => void,
  ) {
    this.finished = new BoundedMap(settings.memory)
    this.shared = new BoundedMap(settings.memory)
    this.revoked = new BoundedMap(settings.memory)
    this.tasks = new TaskHistory(settings.taskHistory)
    this.pathOptions = new PathOptions(pool)
    this.policy = new Policy(settings)
    this.settler = new Settler(settings.logger, new UnsentReplies(settings.logger, 2 * settings.memory))
    this.generations = new Generations((gone) => this.#ended(gone, onGone))
  }

  #ended(gone: AbortSignal, onGone: (held: ActiveJob) => void): void {
    const ofIt = (each: { readonly gone: AbortSignal }): boolean => each.gone === gone
    // A copy: whoever is told takes jobs out, and what stood behind them comes in.
    for (const held of this.active.values()) if (held.phase !== 'done' && (held.deliveries.some(ofIt) || held.behind.some(ofIt))) onGone(held)
  }

  get log(): PoolLogger | undefined {
    return this.settings.logger
  }

  /** False: an event of a job's everyday life need not be made. */
  get heard(): boolean {
    return this.settings.heard()
  }

  report(event: FarmEventBody): void {
    this.settings.report(event)
  }

  /** Deliveries that are not settled and whose generation lives. */
  get unsettled(): number {
    const live = (deliveries: readonly Delivery[]): number => deliveries.reduce((sum, { gone }) => sum + (gone.aborted ? 0 : 1), 0)
    let sum = this.settler.size
    for (const { deliveries, behind } of this.active.values()) sum += live(deliveries) + live(behind)
    return sum
  }
}
