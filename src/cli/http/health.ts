import type { NodeStats } from '../../runtime/report/report.js'

interface HealthStatus {
  ok: boolean
  status: string
  node?: string
  state?: NodeStats['state']
}

/** Whether the process may go on. A lost connection is no reason to restart it: that would not bring the broker back. */
export const liveness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: true, status: 'starting' }
  const { node, state } = stats
  return { ok: state !== 'stopped', status: state === 'stopped' ? 'stopped' : 'alive', node, state }
}

/** Whether the node takes jobs. */
export const readiness = (stats: NodeStats | undefined): HealthStatus => {
  if (stats === undefined) return { ok: false, status: 'starting' }
  const { node, state, connected, scale } = stats
  const status = state !== 'running' ? state : !connected ? 'no connection to the broker' : scale.alive === 0 ? 'no worker is up' : 'ready'
  // A node that has scaled to no worker while no job waits is ready.
  const ok = status === 'ready' || (status === 'no worker is up' && scale.wanted === 0)
  return { ok, status: ok ? 'ready' : status, node, state }
}
