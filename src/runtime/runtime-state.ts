import type { PoolLogger } from '../pool/types.js'
import type { ActiveJob } from './active-job.js'
import { BoundedMap } from './collections/bounded-map.js'
import { DeliveryChannels } from './collections/delivery-channels.js'
import { SlotMap } from './collections/slot-map.js'
import type { Delivery } from './delivery.js'
import type { RuntimePool, RuntimeSettings } from './options.js'
import { PathOptions } from './path-tasks/path-options.js'
import { RateLimits } from './rate-limits.js'
import type { FarmEventBody, NodeStats } from './report/report.js'
import { TaskHistory } from './report/task-history.js'
import { RetryPolicy } from './retry-policy.js'
import { type Outcome, Settler, UnsentReplies } from './settler.js'

/** The state that the parts of one runtime share. */
export class RuntimeState {
  /** While 'paused' or 'closing', no job begins and each delivery is requeued. */
  phase: 'open' | 'paused' | 'closing' = 'open'
  /** Jobs that were delivered and are not settled, by id. An id occurs once. */
  readonly active = new SlotMap<ActiveJob>()
  /** Outcomes of finished jobs, by the identity of their delivery. */
  readonly finished: BoundedMap<Outcome>
  /** Identities under which a second message came before the first was settled. A redelivery of one cannot be told from the other. */
  readonly ambiguous: BoundedMap<true>
  readonly revoked: BoundedMap<true>
  readonly totals: NodeStats['totals'] = { received: 0, succeeded: 0, failed: 0, retried: 0, revoked: 0, lost: 0, deadLettered: 0, recognised: 0 }
  /** Failed jobs, by worker. */
  readonly failures = new Map<number, number>()
  readonly limits = new RateLimits()
  readonly tasks: TaskHistory
  readonly pathOptions: PathOptions
  readonly policy: RetryPolicy
  readonly settler: Settler
  readonly channels: DeliveryChannels

  constructor(
    readonly pool: RuntimePool,
    readonly settings: RuntimeSettings,
    onGone: (job: ActiveJob) => void,
  ) {
    this.finished = new BoundedMap(settings.memory)
    this.ambiguous = new BoundedMap(settings.memory)
    this.revoked = new BoundedMap(settings.memory)
    this.tasks = new TaskHistory(settings.taskHistory)
    this.pathOptions = new PathOptions(pool)
    this.policy = new RetryPolicy(settings)
    this.settler = new Settler(settings.logger, new UnsentReplies(settings.logger, 2 * settings.memory))
    this.channels = new DeliveryChannels((gone) => this.#channelGone(gone, onGone))
  }

  #channelGone(gone: AbortSignal, onGone: (job: ActiveJob) => void): void {
    const ofIt = (each: { readonly gone: AbortSignal }): boolean => each.gone === gone
    // `values` is a copy: `onGone` removes jobs, and deliveries that waited behind them come in.
    for (const job of this.active.values()) if (job.phase !== 'done' && (job.deliveries.some(ofIt) || job.waitingDeliveries.some(ofIt))) onGone(job)
  }

  get log(): PoolLogger | undefined {
    return this.settings.logger
  }

  /** False: nothing listens, so the most frequent events of a job need not be built. */
  get hasListeners(): boolean {
    return this.settings.heard()
  }

  report(event: FarmEventBody): void {
    this.settings.report(event)
  }

  /** Deliveries that are not settled and whose channel is open. */
  get unsettled(): number {
    const live = (deliveries: readonly Delivery[]): number => deliveries.reduce((sum, { gone }) => sum + (gone.aborted ? 0 : 1), 0)
    let sum = this.settler.size
    for (const { deliveries, waitingDeliveries } of this.active.values()) sum += live(deliveries) + live(waitingDeliveries)
    return sum
  }
}
