import type { NodeStats } from '../../runtime/report/report.js'

interface HealthStatus {
  ok: boolean
  status: string
  node?: string
  state?: NodeStats['state']
}

/** Whether to leave the process alone. A lost broker is no reason to restart it: that would not bring the broker back. */
export const liveness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: true, status: 'starting' }
  const { node, state } = stats
  return { ok: state !== 'stopped', status: state === 'stopped' ? 'stopped' : 'alive', node, state }
}

/** Whether it takes jobs. */
export const readiness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: false, status: 'starting' }
  const { node, state, connected, scale } = stats
  const status = state !== 'running' ? state : !connected ? 'no connection to the broker' : scale.alive === 0 ? 'no worker is up' : 'ready'
  // A node that scales to none while nothing waits is as ready as one can be.
  const ok = status === 'ready' || (status === 'no worker is up' && scale.wanted === 0)
  return { ok, status: ok ? 'ready' : status, node, state }
}
