import type { PoolLogger } from '../pool/types.js'
import type { ActiveJob } from './active-job.js'
import { RateLimits } from './admission/rate-limits.js'
import { Revocations } from './admission/revocations.js'
import { BoundedMap } from './collections/bounded-map.js'
import { DeliveryChannels } from './collections/delivery-channels.js'
import { RunTimes } from './collections/run-times.js'
import { SlotMap } from './collections/slot-map.js'
import type { Delivery } from './delivery.js'
import type { RuntimePool, RuntimeSettings } from './options.js'
import { PathOptions } from './path-tasks/path-options.js'
import { IgnoredRetryOptions } from './report/ignored-retry-options.js'
import type { FarmEventBody, NodeStats, WorkerCounts } from './report/report.js'
import { TaskHistory } from './report/task-history.js'
import { RetryPolicy } from './retry-policy.js'
import { type Outcome, Settler, UnsentReplies } from './settler.js'

/** For the log. */
const HOOK_FAILURES = {
  began: 'the broker failed when it was told that a job has begun',
  progress: 'a progress value of a job is not kept, as the broker cannot carry it',
} as const

/** The state that the parts of one runtime share. */
export class RuntimeState {
  /** While 'paused' or 'closing', no job begins and each delivery is requeued. */
  phase: 'open' | 'paused' | 'closing' = 'open'
  /** Jobs that were delivered and are not settled, by key. A key occurs once. */
  readonly active = new SlotMap<ActiveJob>()
  /** The most jobs in `active` since `Runtime.takePeakHeld`. */
  peakActive = 0
  /** Outcomes of finished jobs, by the identity of their delivery. */
  readonly finished: BoundedMap<Outcome>
  /** Identities under which a second message came before the first was settled. A redelivery of one message cannot be told from the other message. */
  readonly ambiguous: BoundedMap<true>
  readonly revocations: Revocations
  readonly totals: NodeStats['totals'] = { received: 0, succeeded: 0, failed: 0, retried: 0, revoked: 0, lost: 0, deadLettered: 0, recognised: 0, refused: 0 }
  /** The jobs of each live worker that has run one. */
  readonly byWorker = new Map<number, WorkerCounts>()
  readonly limits = new RateLimits()
  readonly runTimes: RunTimes
  readonly tasks: TaskHistory
  readonly pathOptions: PathOptions
  readonly policy: RetryPolicy
  readonly settler: Settler
  readonly channels: DeliveryChannels
  readonly ignoredOptions: IgnoredRetryOptions

  constructor(
    readonly pool: RuntimePool,
    readonly settings: RuntimeSettings,
    onGone: (job: ActiveJob) => void,
  ) {
    this.finished = new BoundedMap(settings.memory)
    this.ambiguous = new BoundedMap(settings.memory)
    this.revocations = new Revocations(settings.memory, settings.revocationSpent)
    this.tasks = new TaskHistory(settings.taskHistory, settings.showArguments)
    this.pathOptions = new PathOptions(pool)
    this.ignoredOptions = new IgnoredRetryOptions(settings.logger, settings.retries === 'broker')
    this.policy = new RetryPolicy(settings)
    this.runTimes = new RunTimes(settings.onMeasured)
    this.settler = new Settler(settings.logger, new UnsentReplies(settings.logger, 2 * settings.memory), ({ settlement: { kind } }, delivery) => {
      this.totals.refused++
      const job = { job: delivery?.id, queue: delivery?.queue }
      if (settings.retries !== 'broker')
        this.log?.warn({ ...job, settlement: kind }, 'the broker has not taken the outcome of a job: the broker delivers it again')
      else
        this.log?.warn(
          { ...job, outcome: kind === 'acknowledge' ? 'succeeded' : 'failed' },
          'the outcome of a job was not reported: the broker takes the job for failed when its reservation ends, or has done so',
        )
    })
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

  /** Calls a hook of the broker for each delivery of a job. What it throws, or rejects with, is logged and stops nothing. */
  callHooks<Name extends 'began' | 'progress'>(
    { id, deliveries }: Pick<ActiveJob, 'id' | 'deliveries'>,
    name: Name,
    ...args: Parameters<NonNullable<Delivery[Name]>>
  ): void {
    for (const delivery of deliveries) {
      if (delivery[name] === undefined) continue
      try {
        const returned = (delivery as { [N in Name]: (...args: unknown[]) => unknown })[name](...args)
        if (returned instanceof Promise) returned.catch((err: unknown) => this.#hookFailed(id, name, err))
      } catch (err) {
        this.#hookFailed(id, name, err)
      }
    }
  }

  #hookFailed(job: string, name: keyof typeof HOOK_FAILURES, err: unknown): void {
    this.log?.warn({ job, err }, HOOK_FAILURES[name])
  }

  countsOf(worker: number): WorkerCounts {
    const known = this.byWorker.get(worker)
    if (known !== undefined) return known
    const counts: WorkerCounts = { succeeded: 0, failed: 0, retried: 0 }
    this.byWorker.set(worker, counts)
    return counts
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
