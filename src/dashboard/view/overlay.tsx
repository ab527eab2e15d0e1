import { Text } from 'ink'
import type { HistoryEntry } from '../../runtime/delivery.js'
import type { Controller, Overlay } from '../controller.js'
import { cell, folded } from '../format/cell.js'
import { shownClock, shownTime } from '../format/values.js'
import { KEYS } from '../keys.js'
import type { DeadLetterRecord } from '../model/dead-letters.js'
import type { LogEntry } from '../model/log-tail.js'
import type { NodeTask } from '../model/task-list.js'

interface Page {
  readonly title: string
  readonly lines: readonly string[]
  /** Shows its last lines first. */
  readonly fromTheEnd: boolean
}

/** A page instead of the tables: a job, a stack, a log, the help. */
export const OverlayPane = ({ controller, overlay, width, height }: { controller: Controller; overlay: Overlay; width: number; height: number }) => {
  const { title, lines, fromTheEnd } = pageOf(controller, overlay, width)
  const room = height - 1
  const most = Math.max(0, lines.length - room)
  controller.maxScroll = most
  const scroll = Math.min(controller.scroll, most)
  controller.scroll = scroll
  const first = fromTheEnd ? most - scroll : scroll
  const shown = lines.slice(first, first + room)
  return (
    <>
      <Text bold color="cyan">
        {cell(`${title}${most === 0 ? '' : `  (${first + 1} to ${first + shown.length} of ${lines.length})`}`, width)}
      </Text>
      {Array.from({ length: room }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of text have nothing else
        <Text key={i}>{cell(shown[i] ?? '', width)}</Text>
      ))}
    </>
  )
}

const pageOf = (controller: Controller, overlay: Overlay, width: number): Page => {
  switch (overlay.kind) {
    case 'help':
      return { title: 'Keys', lines: KEYS.flatMap(([keys, help]) => folded(`${keys.padEnd(10)} ${help}`, width)), fromTheEnd: false }
    case 'text':
      return { title: overlay.title, lines: folded(overlay.text, width), fromTheEnd: false }
    case 'node-log':
      return logPage(controller, width)
    case 'task': {
      const { task } = controller
      return task === undefined
        ? { title: overlay.id, lines: ['The node no longer remembers this job.'], fromTheEnd: false }
        : { title: `${task.name} ${task.id}`, lines: taskLines(task, controller).flatMap((line) => folded(line, width)), fromTheEnd: false }
    }
    case 'letter': {
      const { task = '(unreadable)', id = '(no id)' } = overlay.letter
      return { title: `${task} ${id}`, lines: letterLines(overlay.letter).flatMap((line) => folded(line, width)), fromTheEnd: false }
    }
  }
}

const logPage = (controller: Controller, width: number): Page => {
  const entries = controller.options.log?.lines ?? []
  const linesOf = ({ time, level, text }: LogEntry): string[] =>
    folded(`${shownClock(time)} ${level >= 50 ? 'ERROR ' : level >= 40 ? 'WARN  ' : ''}${text}`, width)
  const lines = entries.map(linesOf)
  // Somebody reads earlier lines: they stay where they are, and new ones are below them.
  if (controller.scroll > 0 && controller.lastLogged !== undefined)
    controller.scroll += lines.slice(entries.lastIndexOf(controller.lastLogged) + 1).flat().length
  controller.lastLogged = entries.at(-1)
  return { title: 'Log of the node', lines: lines.flat(), fromTheEnd: true }
}

const taskLines = (task: NodeTask, controller: Controller): string[] => {
  const { status, counts, queue, node, worker, received, started, ended, duration, logs } = task
  const nodeNow = controller.now() - (controller.farm.model.get(node)?.skew ?? 0)
  const took = duration ?? (started === undefined ? undefined : (ended ?? nodeNow) - started)
  const where = [`node ${node}`, worker === undefined ? '' : `worker ${worker}`, queue === '' ? '' : `queue ${queue}`]
  const when = [
    `received ${shownClock(received)}`,
    started === undefined ? '' : `started ${shownClock(started)}`,
    took === undefined ? '' : `took ${shownTime(took)}`,
  ]
  return [
    `${status}  attempt ${counts.attempt}, losses ${counts.losses}, requeues ${counts.requeues}`,
    spaced(where),
    spaced(when),
    ...argumentLines(task.arguments),
    ...errorLines(task),
    ...attemptLines(task.attempts ?? []),
    '',
    ...(logs.length === 0 ? ['It has written nothing.'] : ['Its output:']),
    ...logs.map(({ time, stream, text }) => `${shownClock(time)} ${stream === 'stdout' ? '' : `${stream} `}${text.trimEnd()}`),
  ]
}

const letterLines = (letter: DeadLetterRecord): string[] => {
  const { reason, attempt, losses, queue, node, at } = letter
  return [
    `${reason}  attempt ${attempt}, losses ${losses}`,
    spaced([`queue ${queue}`, node === undefined ? '' : `node ${node}`, at === undefined ? '' : `since ${new Date(at).toLocaleString()}`]),
    ...argumentLines(letter.arguments),
    ...errorLines(letter),
    ...attemptLines(letter.attempts),
  ]
}

const spaced = (parts: readonly string[]): string => parts.filter((each) => each !== '').join('  ')

const argumentLines = (text: string | undefined): string[] => (text === undefined ? [] : ['', 'Arguments', `  ${text}`])

/** The stack begins with the name and the message of the error. */
const errorLines = ({ error, stack }: { readonly error?: string | undefined; readonly stack?: string | undefined }): string[] =>
  error === undefined || error === '' ? [] : ['', 'Error', ...(stack ?? error).split('\n').map((line) => `  ${line}`)]

const attemptLines = (attempts: readonly HistoryEntry[]): string[] =>
  attempts.length === 0
    ? []
    : ['', 'Runs that failed', ...attempts.map(({ attempt, at, node, outcome, error }) => `  ${attempt}  ${shownClock(at)}  ${node}  ${outcome}: ${error}`)]
