import { hostname } from 'node:os'
import type { WebDashboard } from '../../dashboard/web/web-dashboard.js'
import { withoutPassword } from '../../util/redact.js'
import { brokerKind } from '../settings/address.js'
import type { BrokerSettings } from '../settings/broker.js'
import { type HttpSettings, isLoopback } from '../settings/http.js'

export interface OpenedDashboard {
  readonly dashboard: WebDashboard
  /** Its address on this port; the token is a part of it, unless it was given. */
  address(port: number): string
}

const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]'])

/** Makes the dashboard for browsers, whose code is loaded now. `report`: gets a line for each change that a page makes. */
export const webDashboard = async (http: HttpSettings, broker: BrokerSettings, report: (text: string) => void): Promise<OpenedDashboard> => {
  const { WebDashboard, newToken } = await import('../../dashboard/web/web-dashboard.js')
  const { host } = http
  const token = http.token ?? newToken()
  const title = brokerKind(broker.url) === 'a queue in a file' ? broker.url : withoutPassword(broker.url)
  const shownHost = EVERYWHERE.has(host) ? hostname() : host.includes(':') ? `[${host}]` : host
  return {
    dashboard: new WebDashboard({ token, host, title, report }),
    address: (port) => `http://${shownHost}:${port}/${http.token === undefined ? `#token=${token}` : ''}`,
  }
}

/**
 * Whether a node serves its dashboard. Beyond loopback only with a token that was given for it: a node that opens its health and metrics to others
 * must not open its commands to them as well, with a token that is in its log.
 */
export const nodeServesDashboard = ({ host, token }: HttpSettings): boolean => token !== undefined || isLoopback(host)
