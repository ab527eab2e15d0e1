import { Text } from 'ink'
import type { Controller } from '../controller.js'
import { cell } from '../format/cell.js'
import { colourOf, STATE_COLOURS, shownBytes, shownCount, shownRate, shownTime, sparkline } from '../format/values.js'

/** ms without an event after which a node is shown as silent. */
const SILENT_AFTER = 10_000

/** Three lines: the node and its state, its current work, its finished work. */
export const Header = ({ controller, width }: { controller: Controller; width: number }) => {
  const { node } = controller
  const { stats } = node ?? {}
  if (node === undefined || stats === undefined) {
    return (
      <>
        <Text bold>prefork</Text>
        <Text dimColor>waiting for a heartbeat …</Text>
        <Text> </Text>
      </>
    )
  }
  const silent = controller.now() - node.lastEvent > SILENT_AFTER
  const state = node.down !== undefined ? `down (${node.down})` : silent ? `silent for ${shownTime(controller.now() - node.lastEvent)}` : stats.state
  const others = controller.nodes().length
  const right = `${others > 1 ? `${others} nodes, n: next  ` : ''}up ${shownTime(stats.uptime)}  ${shownBytes(stats.rss)}`
  const name = cell(node.name, Math.min(28, node.name.length))
  const middle = width - 9 - name.length - right.length - 1
  const connection = stats.connected ? '' : '  no broker!'
  return (
    <>
      <Text wrap="truncate">
        <Text bold>prefork </Text>
        {name}{' '}
        <Text color={node.down !== undefined || silent || !stats.connected ? 'red' : colourOf(STATE_COLOURS, stats.state)}>
          {cell(state + connection, Math.max(8, middle))}
        </Text>{' '}
        <Text dimColor>{right}</Text>
      </Text>
      <Work controller={controller} width={width} />
      <Text dimColor>{cell(doneLine(stats), width)}</Text>
    </>
  )
}

const Work = ({ controller, width }: { controller: Controller; width: number }) => {
  const { stats, throughput } = controller.node!
  const { depth, held, prefetch, running } = stats!
  const text = `queue ${depth === undefined ? '?' : shownCount(depth)}  held ${held}/${prefetch}  running ${running}  ${shownRate(throughput.at(-1) ?? 0)} `
  return (
    <Text wrap="truncate">
      {text}
      <Text color="green">{sparkline(throughput, Math.max(0, Math.min(30, width - text.length)))}</Text>
    </Text>
  )
}

const doneLine = ({ totals }: NonNullable<NonNullable<Controller['node']>['stats']>): string =>
  [
    `done ${shownCount(totals.succeeded)}`,
    `failed ${shownCount(totals.failed)}`,
    `retried ${shownCount(totals.retried)}`,
    `lost ${shownCount(totals.lost)}`,
    `revoked ${shownCount(totals.revoked)}`,
    `dead letters ${shownCount(totals.deadLettered)}`,
  ].join('  ')
