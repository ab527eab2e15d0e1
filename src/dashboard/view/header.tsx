import { Text } from 'ink'
import stringWidth from 'string-width'
import type { NodeStats } from '../../runtime/report/report.js'
import type { Controller } from '../controller.js'
import { cell } from '../format/cell.js'
import { type Colour, colourOf, STATE_COLOURS, shownBytes, shownCount, shownRate, shownTime, sparkline } from '../format/values.js'
import { isStuck, type NodeModel } from '../model/node-model.js'

/** Seconds of the throughput that are drawn, at most. */
const DRAWN = 30

/** What the three lines show: of one node, or of all. */
interface Summary {
  readonly name: string
  readonly state: string
  readonly colour: Colour
  readonly right: string
  readonly work: string
  readonly throughput: readonly number[]
  readonly jobs: NodeStats['totals']
}

/** Three lines: the node and its state, its current work, its finished work; or those of all nodes. */
export const Header = ({ controller, width }: { controller: Controller; width: number }) => {
  const summary = controller.shownNode === undefined ? farmSummary(controller) : nodeSummary(controller)
  if (summary === undefined) {
    return (
      <>
        <Text bold>prefork</Text>
        <Text dimColor>waiting for a heartbeat{controller.shownNode === undefined ? '' : ` of ${cell(controller.shownNode, width - 30).trimEnd()}`} …</Text>
        <Text> </Text>
      </>
    )
  }
  const { name, state, colour, right, work, throughput, jobs } = summary
  const shown = cell(name, 28).trimEnd()
  return (
    <>
      <Text wrap="truncate">
        <Text bold>prefork </Text>
        {shown} <Text color={colour}>{cell(state, Math.max(8, width - 8 - stringWidth(shown) - right.length - 2))}</Text> <Text dimColor>{right}</Text>
      </Text>
      <Text wrap="truncate">
        {work}
        <Text color="green">{sparkline(throughput, Math.max(0, Math.min(DRAWN, width - work.length)))}</Text>
      </Text>
      <Text dimColor>{cell(jobsLine(jobs), width)}</Text>
    </>
  )
}

const workLine = (depth: number | undefined, held: number, prefetch: number, running: number, rate: number): string =>
  `queue ${depth === undefined ? '?' : shownCount(depth)}  held ${held}/${prefetch}  running ${running}  ${shownRate(rate)} `

const farmSummary = (controller: Controller): Summary | undefined => {
  const now = controller.now()
  const { nodes, workers, busy, depth, held, prefetch, running, rate, rss, jobs } = controller.farm.model.totals(now)
  const gone = controller.nodes.length - nodes
  const { connected } = controller.farm.model
  if (nodes + gone === 0 && connected) return undefined
  const alive = `${workers === 1 ? '1 worker' : `${workers} workers`}, ${busy} busy${gone === 0 ? '' : `, ${gone} gone`}`
  return {
    name: nodes === 1 ? '1 node,' : `${nodes} nodes,`,
    state: connected ? alive : 'the dashboard has lost its connection; it tries again',
    colour: gone > 0 || !connected ? 'red' : undefined,
    right: shownBytes(rss),
    work: workLine(depth, held, prefetch, running, rate),
    throughput: controller.farm.model.seconds(now, DRAWN).map(({ ended }) => ended),
    jobs,
  }
}

const nodeSummary = (controller: Controller): Summary | undefined => {
  const { node, nodes } = controller
  const { stats } = node ?? {}
  if (node === undefined || stats === undefined) return undefined
  const [state, colour] = nodeState(node, controller.now())
  return {
    name: node.name,
    state,
    colour,
    right: `${nodes.length > 1 ? `n: next of ${nodes.length}  ` : ''}up ${shownTime(stats.uptime)}  ${shownBytes(stats.rss)}`,
    work: workLine(stats.depth, stats.held, stats.prefetch, stats.running, node.rateAt(controller.now()) ?? 0),
    throughput: node.samples.slice(-DRAWN).map(({ ended }) => ended),
    jobs: stats.totals,
  }
}

/** What a node is doing, or why it is not there. */
export const nodeState = (node: NodeModel, now: number): [text: string, colour: Colour] => {
  const { stats } = node
  const gone = node.goneReason(now)
  if (gone !== undefined) return [`gone (${gone})`, 'red']
  if (!node.heard) return ['unknown: not connected', 'yellow']
  const silence = node.silentFor(now)
  if (silence !== undefined) return [`silent for ${shownTime(silence)}`, 'red']
  if (stats === undefined) return ['no heartbeat yet', 'yellow']
  if (!stats.connected) return [`${stats.state}  no broker!`, 'red']
  const stuck = stats.workers.filter(isStuck).length
  return stuck > 0 ? [`${stats.state}, ${stuck} stuck`, 'red'] : [stats.state, colourOf(STATE_COLOURS, stats.state)]
}

const jobsLine = ({ succeeded, failed, retried, lost, revoked, deadLettered }: NodeStats['totals']): string =>
  Object.entries({ done: succeeded, failed, retried, lost, revoked, 'dead letters': deadLettered })
    .map(([name, count]) => `${name} ${shownCount(count)}`)
    .join('  ')
