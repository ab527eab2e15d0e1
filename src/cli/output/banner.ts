import { hostname } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutPassword } from '../../util/redact.js'
import { brokerKind } from '../settings/address.js'
import { NODE_DEFAULTS, type WorkSettings } from '../settings/work.js'
import type { Paint } from './output-stream.js'

/** The defaults of a node that `prefork/faktory` sets itself. */
const FAKTORY_DEFAULTS = { shutdownGrace: 25_000 }

const seconds = (ms: number): string => `${ms / 1_000} s`

const pathsOf = (given: WorkSettings['node']['tasks'] = [], folder: string): string =>
  [given]
    .flat()
    .map((url) => relative(folder, fileURLToPath(url as URL)) || '.')
    .join(', ')

/** The configuration as pairs of a name and a value. The broker's password is hidden. */
export const configuration = (settings: WorkSettings, folder: string): [name: string, value: string][] => {
  const { broker, node, http } = settings
  const kind = brokerKind(broker.url)
  const isFaktory = kind === 'Faktory'
  const { minWorkers, maxWorkers, concurrency, niceness, maxLosses, shutdownGrace } = {
    ...NODE_DEFAULTS,
    ...(isFaktory ? FAKTORY_DEFAULTS : {}),
    ...node,
  }
  const held = node.prefetchPerWorker ?? Math.max(NODE_DEFAULTS.prefetchPerWorker, concurrency)
  const lines: [string, string | undefined][] = [
    ['node', node.name ?? `(generated) on ${hostname()}, process ${process.pid}`],
    ['broker', kind === 'a queue in a file' ? broker.url : withoutPassword(broker.url)],
    ['queues', broker.queues.map((name) => (broker.weights === undefined ? name : `${name} (weight ${broker.weights[name]})`)).join(', ')],
    ['control', broker.control],
    [
      'exchanges',
      kind !== 'RabbitMQ'
        ? undefined
        : `${broker.controlExchange} (commands${broker.secret === undefined ? '' : ', with a secret'}), ${broker.eventExchange} (events)`,
    ],
    ['tasks', pathsOf(node.tasks, folder)],
    ['roots', pathsOf(node.roots, folder)],
    ['imports', pathsOf(node.imports, folder)],
    ['workers', minWorkers === maxWorkers ? String(minWorkers) : `${minWorkers} to ${maxWorkers}, by what waits`],
    ['per worker', `${concurrency} at once, up to ${held} held${niceness === 0 ? '' : `, nice ${niceness}`}`],
    [
      'limits',
      [
        node.softTimeLimit === undefined ? '' : `soft ${seconds(node.softTimeLimit)}`,
        node.timeLimit === undefined ? '' : `hard ${seconds(node.timeLimit)}`,
        node.maxStall === undefined ? '' : `stall ${seconds(node.maxStall)}`,
        node.maxJobsPerWorker === undefined ? '' : `${node.maxJobsPerWorker} jobs per worker`,
        node.maxMemoryPerWorker === undefined ? '' : `${Math.round(node.maxMemoryPerWorker / 1e6)} MB per worker`,
      ]
        .filter((each) => each !== '')
        .join(', '),
    ],
    ['losses', `${maxLosses}, then ${isFaktory ? 'it has failed' : 'the dead letters'}`],
    ['grace', seconds(shutdownGrace)],
    ['http', http === undefined ? '' : `http://${http.host.includes(':') ? `[${http.host}]` : http.host}:${http.port}`],
  ]
  return lines.filter((line): line is [string, string] => line[1] !== undefined && line[1] !== '')
}

/** The configuration, as a terminal shows it before the log. */
export const banner = (version: string, lines: readonly (readonly [string, string])[], paint: Paint): string => {
  const width = Math.max(...lines.map(([name]) => name.length))
  const body = lines.map(([name, value]) => `  ${paint('dim', name.padEnd(width))}  ${value}`).join('\n')
  return `\n  ${paint('bold', 'prefork')} ${version}, Node ${process.versions.node}\n\n${body}\n\n`
}
