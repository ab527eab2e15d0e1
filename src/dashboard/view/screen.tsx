import { Box, Text } from 'ink'
import type { Controller } from '../controller.js'
import { cell } from '../format/cell.js'
import { Header } from './header.js'
import { TaskTable, WorkerTable } from './lists.js'
import { OverlayPane } from './overlay.js'

export interface Size {
  readonly columns: number
  readonly rows: number
}

const HEADER = 3
const FOOTER = 2

/** The whole frame: at most `rows - 1` lines, since a full screen would scroll. */
export const Screen = ({ controller, size }: { controller: Controller; size: Size }) => {
  const width = Math.max(40, size.columns)
  const room = Math.max(6, size.rows - 1 - HEADER - FOOTER)
  const { node, overlay } = controller
  const workers = Math.min(Math.max(1, controller.workers.length), Math.max(2, Math.floor((room - 2) / 2)))
  return (
    <Box flexDirection="column" width={width}>
      <Header controller={controller} width={width} />
      {node === undefined ? (
        <Text color="yellow">No node has reported yet. Is a node running on this broker?</Text>
      ) : overlay !== undefined ? (
        <OverlayPane controller={controller} overlay={overlay} width={width} height={room} />
      ) : (
        <>
          <WorkerTable controller={controller} width={width} height={workers} />
          <TaskTable controller={controller} width={width} height={room - workers - 2} />
        </>
      )}
      <Footer controller={controller} width={width} />
    </Box>
  )
}

const BOTTOM = 'Tab ↑↓ Enter  p pause  + - scale  r restart  t stack  x revoke  ? help  q quit'

/** ms that a notice is shown. */
const NOTICE_TIME = 10_000

const Footer = ({ controller, width }: { controller: Controller; width: number }) => {
  const { confirmation: question, overlay } = controller
  const notice = controller.notice !== undefined && controller.now() - controller.notice.at < NOTICE_TIME ? controller.notice : undefined
  const text = question !== undefined ? `${question.text} y / n` : (notice?.text ?? '')
  return (
    <>
      <Text color={question !== undefined ? 'yellow' : notice?.bad ? 'red' : undefined} bold={question !== undefined}>
        {cell(text, width)}
      </Text>
      <Text dimColor>{cell(overlay === undefined ? BOTTOM : '↑ ↓ PgUp PgDn scroll   Esc back', width)}</Text>
    </>
  )
}
