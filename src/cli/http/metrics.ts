import type { FarmNode } from '../../node/types.js'
import type { NodeStats } from '../../runtime/report/report.js'
import { Durations, type Sample } from './durations.js'

const STATES = ['starting', 'running', 'quiet', 'paused', 'draining', 'stopped'] as const satisfies readonly NodeStats['state'][]

/** The node's metrics for Prometheus. Counters are the node's own totals, read at each request. */
export class Metrics {
  readonly #durations = new Durations()
  #unwatch: (() => void) | undefined

  /** Counts the durations of this node's jobs from now on. */
  watch(node: FarmNode): void {
    this.#unwatch?.()
    this.#unwatch = node.onEvent((event) => this.#durations.take(event))
  }

  close(): void {
    this.#unwatch?.()
  }

  text(stats: NodeStats | undefined): string {
    const out = new Exposition()
    out.family('prefork_up', 'gauge', 'Whether the node has started.', [[{}, stats === undefined ? 0 : 1]])
    if (stats !== undefined) {
      nodeFamilies(out, stats)
      workerFamilies(out, stats)
      out.family('prefork_task_duration_seconds', 'histogram', 'How long jobs ran, by task and outcome.', this.#durations.samples())
    }
    return out.text()
  }
}

const nodeFamilies = (out: Exposition, stats: NodeStats): void => {
  const gauge = (name: string, help: string, value: number | undefined): void => out.family(name, 'gauge', help, value === undefined ? [] : [[{}, value]])
  const { node, host, version, scale, totals } = stats
  out.family('prefork_node_info', 'gauge', 'What the node is.', [[{ node, host, version }, 1]])
  const states = STATES.map((state): Sample => [{ state }, state === stats.state ? 1 : 0])
  out.family('prefork_node_state', 'gauge', 'The state that the node is in: 1.', states)
  gauge('prefork_uptime_seconds', 'Time since the node started.', stats.uptime / 1_000)
  gauge('prefork_resident_memory_bytes', 'Resident memory of the node itself.', stats.rss)
  gauge('prefork_broker_connected', 'Whether the broker is connected.', stats.connected ? 1 : 0)
  gauge('prefork_queue_depth', 'Jobs ready in the queues of the node.', stats.depth)
  gauge('prefork_prefetch', 'Deliveries that the node may hold; each queue and level has room for one at least.', stats.prefetch)
  gauge('prefork_deliveries_held', 'Deliveries that the node holds, running ones included.', stats.held)
  gauge('prefork_jobs_running', 'Jobs running now.', stats.running)
  gauge('prefork_workers_min', 'Minimum number of workers.', scale.min)
  gauge('prefork_workers_max', 'Maximum number of workers.', scale.max)
  gauge('prefork_workers_wanted', 'Workers that the node wants now.', scale.wanted)
  gauge('prefork_workers_alive', 'Workers that are alive.', scale.alive)
  out.family('prefork_jobs_received_total', 'counter', 'Deliveries received.', [[{}, totals.received]])
  const { succeeded, failed, retried, revoked, lost, deadLettered, recognised, refused } = totals
  const outcomes = Object.entries({ succeeded, failed, retried, revoked, lost, dead_lettered: deadLettered, recognised, refused })
  const jobs = outcomes.map(([outcome, count]): Sample => [{ outcome }, count])
  out.family('prefork_jobs_total', 'counter', 'Jobs by what became of them.', jobs)
}

const workerFamilies = (out: Exposition, { workers }: NodeStats): void => {
  const each = (name: string, help: string, value: (worker: NodeStats['workers'][number]) => number): void => {
    const samples = workers.map((worker): Sample => [{ worker: worker.id }, value(worker)])
    out.family(name, 'gauge', help, samples)
  }
  each('prefork_worker_resident_memory_bytes', 'Resident memory of a worker.', (worker) => worker.rss)
  each('prefork_worker_jobs_running', 'Jobs running on a worker.', (worker) => worker.running)
  each('prefork_worker_stalled_seconds', "Time since a worker's main thread last turned.", (worker) => worker.stalled / 1_000)
}

/** Prometheus' text format, version 0.0.4: three kinds of lines. https://prometheus.io/docs/instrumenting/exposition_formats/ */
class Exposition {
  readonly #lines: string[] = []

  /** A family of samples; one without samples is left out. */
  family(name: string, kind: 'gauge' | 'counter' | 'histogram', help: string, samples: Iterable<Sample>): void {
    const body = [...samples].map(([labels, value, suffix = '']) => `${name}${suffix}${shownLabels(labels)} ${shownValue(value)}`)
    if (body.length > 0) this.#lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${kind}`, ...body)
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

const shownLabels = (labels: Sample[0]): string => {
  const all = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return all.length === 0 ? '' : `{${all.join(',')}}`
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const shownValue = (value: number): string => (value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value))
