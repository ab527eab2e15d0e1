import { Text } from 'ink'
import { useRef } from 'react'
import stringWidth from 'string-width'
import { cell } from '../format/cell.js'
import type { Colour } from '../format/values.js'

export interface Column<T> {
  readonly title: string
  /** In columns of the terminal. 0, for one column only: all that the others leave. */
  readonly width: number
  /** Widened to its values where the others leave blanks, and in a wide terminal in any case. */
  readonly grows?: boolean
  readonly right?: boolean
  /** Left out where the terminal is too narrow, the highest first. */
  readonly optional?: number
  value(row: T): string
  /** Of the column without a width: what it has at least, before others are left out. Default 20. */
  readonly least?: number
  /** Of the column without a width: the part of its values for which others are left out, up to 40 columns. */
  important?(row: T): string
  colour?(row: T): Colour
}

export interface TableProps<T> {
  readonly title: string
  /** Beside the title of the column without a width. */
  readonly note: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly chosen: T | undefined
  readonly focused: boolean
  readonly width: number
  /** Rows at most, without the line of titles. */
  readonly height: number
  readonly keyOf: (row: T) => string | number
  readonly empty: string
  /** Rows whose column without a width takes the place of those after it, which say nothing. */
  readonly spans?: (row: T) => boolean
}

/** Columns of the terminal for the column without a width, at least, and at most before others are left out. */
const MIN_REST = 20
const MAX_IMPORTANT = 40
/** From here on the columns that grow do so although the column without a width is cut. */
const WIDE = 120

/** The widest values that a table has shown: its columns do not move to and fro as rows come and go. */
class Widest {
  readonly #known = new Map<string, number>()

  of<T>(what: string, rows: readonly T[], textOf: (row: T) => string): number {
    const widest = rows.reduce((most, row) => Math.max(most, stringWidth(textOf(row))), this.#known.get(what) ?? 0)
    this.#known.set(what, widest)
    return widest
  }
}

const taken = <T,>(columns: readonly Column<T>[]): number => columns.reduce((sum, each) => sum + each.width + 1, 1)

/** The columns that fit, with their widths. */
const layOut = <T,>(columns: readonly Column<T>[], rows: readonly T[], width: number, widest: Widest): readonly Column<T>[] => {
  const rest = columns.find((each) => each.width === 0)
  const { important, least: atLeast = MIN_REST } = rest ?? {}
  const wanted = important === undefined ? atLeast : Math.min(MAX_IMPORTANT, Math.max(atLeast, widest.of('important', rows, important)))
  let kept = columns
  while (width - taken(kept) < wanted) {
    const least = Math.max(0, ...kept.map((each) => each.optional ?? 0))
    if (least === 0) break
    kept = kept.filter((each) => each.optional !== least)
  }
  let free = width - taken(kept) - (width >= WIDE || rest === undefined ? wanted : Math.max(wanted, widest.of(rest.title, rows, rest.value)))
  const grown = kept.map((each) => {
    if (each.grows !== true || free <= 0) return each
    const more = Math.min(free, Math.max(0, widest.of(each.title, rows, each.value) - each.width))
    free -= more
    return { ...each, width: each.width + more }
  })
  const left = Math.max(4, width - taken(grown))
  return grown.map((each) => (each.width === 0 ? { ...each, width: left } : each))
}

/** The columns up to the one without a width, which takes the rest of the line. */
const spanned = <T,>(all: readonly Column<T>[], columns: readonly Column<T>[], width: number): readonly Column<T>[] => {
  const title = all.find((each) => each.width === 0)?.title
  const kept = columns.slice(0, columns.findIndex((each) => each.title === title) + 1)
  return kept.map((each) => (each.title === title ? { ...each, width: each.width + width - taken(kept) } : each))
}

/** The titles with a note beside that of the column without a width. It may cover others. */
const noted = <T,>(titles: string, all: readonly Column<T>[], columns: readonly Column<T>[], note: string): string => {
  const title = all.find((each) => each.width === 0)?.title ?? ''
  const before =
    taken(
      columns.slice(
        0,
        columns.findIndex((each) => each.title === title),
      ),
    ) - 1
  const text = `${title}  ${note}`
  const after = before + Math.max(text.length + 2, title.length)
  return cell(`${titles.slice(0, before)}${text}  ${titles.slice(after)}`, titles.length)
}

/** One line of titles and a window of rows around the chosen one. */
export function Table<T>({ title, note, columns: all, rows, chosen, focused, width, height, keyOf, empty, spans }: TableProps<T>) {
  const at = Math.max(0, chosen === undefined ? 0 : rows.indexOf(chosen))
  const first = Math.max(0, Math.min(at - Math.floor(height / 2), rows.length - height))
  const shown = rows.slice(first, first + height)
  const widest = useRef(new Widest())
  const columns = layOut(all, shown, width, widest.current)
  const titles = columns.map((column, i) => cell(i === 0 ? title : column.title, column.width, column.right && i > 0 ? 'right' : 'left')).join(' ')
  return (
    <>
      <Text bold wrap="truncate" color={focused ? 'cyan' : undefined}>
        {focused ? '▸' : ' '}
        {note === '' ? titles : noted(titles, all, columns, note)}
      </Text>
      {shown.map((row) => (
        <Text key={keyOf(row)} wrap="truncate" inverse={focused && row === chosen}>
          {' '}
          {(spans?.(row) ? spanned(all, columns, width) : columns).map((column, i, { length }) => (
            <Text key={column.title} color={column.colour?.(row)}>
              {cell(column.value(row), column.width, column.right ? 'right' : 'left')}
              {i < length - 1 ? ' ' : ''}
            </Text>
          ))}
        </Text>
      ))}
      {shown.length === 0 && <Text dimColor> {cell(empty, width - 2)}</Text>}
      {Array.from({ length: height - Math.max(1, shown.length) }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: empty lines have nothing else
        <Text key={`empty-${i}`}> </Text>
      ))}
    </>
  )
}
