import { Text } from 'ink'
import type { TaskRecord } from '../../runtime/report/report.js'
import type { Controller, Overlay } from '../controller.js'
import { cell, folded } from '../format/cell.js'
import { shownClock, shownTime } from '../format/values.js'
import { KEYS } from '../keys.js'

interface Page {
  readonly title: string
  readonly lines: readonly string[]
  /** Shows its last lines first. */
  readonly fromTheEnd: boolean
}

/** A page instead of the tables: a log, a stack, the help. */
export const OverlayPane = ({ controller, overlay, width, height }: { controller: Controller; overlay: Overlay; width: number; height: number }) => {
  const { title, lines, fromTheEnd } = pageOf(controller, overlay, width)
  const room = height - 1
  const most = Math.max(0, lines.length - room)
  const scroll = Math.min(controller.scroll, most)
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
      return { title: 'Keys', lines: KEYS.map(([keys, , help]) => `${keys.padEnd(10)} ${help}`), fromTheEnd: false }
    case 'stack':
      return { title: `Worker ${overlay.worker} executes`, lines: folded(overlay.text ?? 'asking …', width), fromTheEnd: false }
    case 'node-log':
      return {
        title: 'Log of the node',
        lines: (controller.options.log?.lines ?? []).flatMap(({ time, level, text }) =>
          folded(`${shownClock(time)} ${level >= 50 ? 'ERROR ' : level >= 40 ? 'WARN  ' : ''}${text}`, width),
        ),
        fromTheEnd: true,
      }
    case 'task': {
      const task = controller.node?.tasks.get(overlay.id)
      return task === undefined
        ? { title: overlay.id, lines: ['The node no longer remembers this job.'], fromTheEnd: false }
        : { title: `${task.name} ${task.id}`, lines: [...factsOf(task, controller.nodeNow(), width), '', ...logOf(task, width)], fromTheEnd: false }
    }
  }
}

const factsOf = (task: TaskRecord, now: number, width: number): string[] => {
  const { status, counts, queue, worker, received, started, ended, duration, error } = task
  const took = duration ?? (started === undefined ? undefined : (ended ?? now) - started)
  return [
    `${status}  attempt ${counts.attempt}, losses ${counts.losses}, requeues ${counts.requeues}${queue === '' ? '' : `  queue ${queue}`}`,
    `received ${shownClock(received)}${started === undefined ? '' : `  started ${shownClock(started)}`}${worker === undefined ? '' : ` on worker ${worker}`}${took === undefined ? '' : `  took ${shownTime(took)}`}`,
    ...(error === undefined ? [] : folded(error, width)),
  ]
}

const logOf = ({ logs }: TaskRecord, width: number): string[] =>
  logs.length === 0
    ? ['It has written nothing.']
    : logs.flatMap(({ time, stream, text }) => folded(`${shownClock(time)} ${stream === 'stdout' ? '' : `${stream} `}${text.trimEnd()}`, width))
