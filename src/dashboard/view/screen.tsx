import { Box, Text } from 'ink'
import stringWidth from 'string-width'
import { ENDED_BADLY } from '../actions.js'
import type { Controller } from '../controller.js'
import { cell } from '../format/cell.js'
import { Header } from './header.js'
import { LetterTable, NodeTable, TaskTable, WorkerTable } from './lists.js'
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
  const { nodes, overlay, page, shownNode } = controller
  const entries = shownNode === undefined ? nodes.length : controller.workers.length
  const upper = Math.min(Math.max(1, entries), Math.max(2, Math.floor((room - 2) / 2)))
  return (
    <Box flexDirection="column" width={width}>
      <Header controller={controller} width={width} />
      {overlay !== undefined ? (
        <OverlayPane controller={controller} overlay={overlay} width={width} height={room} />
      ) : page === 'letters' ? (
        <LetterTable controller={controller} width={width} height={room - 1} />
      ) : nodes.length === 0 ? (
        <Text color="yellow">No node has reported yet. Is a node running on this broker?</Text>
      ) : (
        <>
          {shownNode === undefined ? (
            <NodeTable controller={controller} width={width} height={upper} />
          ) : (
            <WorkerTable controller={controller} width={width} height={upper} />
          )}
          <TaskTable controller={controller} width={width} height={room - upper - 2} />
        </>
      )}
      <Footer controller={controller} width={width} />
    </Box>
  )
}

/** What may be done with a job that is shown: nothing, if it succeeded or was revoked. */
const keyOfTask = (task: Controller['task']): string[] => {
  if (task?.ended === undefined) return ['x end it']
  return ENDED_BADLY.has(task.status) ? ['R retry'] : []
}

/** The keys that are useful now, the most useful first. */
const keysFor = ({ overlay, page, typing, options, shownNode, task }: Controller, width: number): string => {
  if (typing) return 'words, or task:mail state:failed   Enter keep   Esc clear'
  if (overlay?.kind === 'letter') return '↑ ↓ PgUp PgDn scroll   R retry   Esc back'
  if (overlay?.kind === 'task') return ['↑ ↓ PgUp PgDn scroll', ...keyOfTask(task), 'Esc back'].join('   ')
  if (overlay !== undefined) return '↑ ↓ PgUp PgDn scroll   Esc back'
  if (page === 'letters') return fitting(['↑↓ Enter', '/ filter', 'R retry', 'A retry all that match', 'Esc back', 's read again'], width)
  const all = options.only === true || shownNode === undefined ? [] : ['Esc all nodes']
  const ofWorker = shownNode === undefined ? [] : ['t stack', 'p profile']
  return fitting(['Tab ↑↓ Enter', ...all, '/ filter', 'd dead letters', ...ofWorker, 'P pause', 'x revoke', 'o order', '+ - scale', 'r restart'], width)
}

const LAST_KEYS = '? help  q quit'

/** As many as fit before the last ones. */
const fitting = (keys: readonly string[], width: number): string => {
  let line = ''
  for (const key of keys) {
    const longer = `${line}${key}  `
    if (stringWidth(longer) + LAST_KEYS.length > width) break
    line = longer
  }
  return line + LAST_KEYS
}

/** ms that a notice is shown. */
const NOTICE_TIME = 10_000

const Footer = ({ controller, width }: { controller: Controller; width: number }) => {
  const { confirmation: question, filter, typing } = controller
  const notice = controller.notice !== undefined && controller.now() - controller.notice.at < NOTICE_TIME ? controller.notice : undefined
  const text = question !== undefined ? `${question.text} y / n` : typing ? `/${filter}█` : (notice?.text ?? '')
  return (
    <>
      <Text color={question !== undefined ? 'yellow' : typing ? 'cyan' : notice?.bad ? 'red' : undefined} bold={question !== undefined}>
        {cell(text, width)}
      </Text>
      <Text dimColor>{cell(keysFor(controller, width), width)}</Text>
    </>
  )
}
