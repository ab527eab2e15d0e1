import { Text } from 'ink'
import { cell } from '../format/cell.js'
import type { Colour } from '../format/values.js'

export interface Column<T> {
  readonly title: string
  /** In columns of the terminal. 0, for one column only: all that the others leave. */
  readonly width: number
  readonly right?: boolean
  /** Left out where the terminal is too narrow, the highest first. */
  readonly optional?: number
  value(row: T): string
  colour?(row: T): Colour
}

export interface TableProps<T> {
  readonly title: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly chosen: T | undefined
  readonly focused: boolean
  readonly width: number
  /** Rows at most, without the line of titles. */
  readonly height: number
  readonly keyOf: (row: T) => string | number
  readonly empty: string
}

/** Columns of the terminal for the table's column without a width, at least. */
const MIN_REST = 20

const fitting = <T,>(columns: readonly Column<T>[], width: number): readonly Column<T>[] => {
  let kept = columns
  while (width - taken(kept) < MIN_REST) {
    const least = Math.max(0, ...kept.map((each) => each.optional ?? 0))
    if (least === 0) break
    kept = kept.filter((each) => each.optional !== least)
  }
  return kept
}

const taken = <T,>(columns: readonly Column<T>[]): number => columns.reduce((sum, each) => sum + each.width + 1, 1)

/** One line of titles and a window of rows around the chosen one. */
export function Table<T>({ title, columns: all, rows, chosen, focused, width, height, keyOf, empty }: TableProps<T>) {
  const columns = fitting(all, width)
  const fixed = taken(columns)
  const widthOf = (column: Column<T>): number => (column.width === 0 ? Math.max(4, width - fixed) : column.width)
  const at = Math.max(0, chosen === undefined ? 0 : rows.indexOf(chosen))
  const first = Math.max(0, Math.min(at - Math.floor(height / 2), rows.length - height))
  const shown = rows.slice(first, first + height)
  const titles = columns.map((column, i) => cell(i === 0 ? title : column.title, widthOf(column), column.right && i > 0 ? 'right' : 'left')).join(' ')
  return (
    <>
      <Text bold wrap="truncate" color={focused ? 'cyan' : undefined}>
        {focused ? '▸' : ' '}
        {titles}
      </Text>
      {shown.map((row) => (
        <Text key={keyOf(row)} wrap="truncate" inverse={focused && row === chosen}>
          {' '}
          {columns.map((column, i) => (
            <Text key={column.title} color={column.colour?.(row)}>
              {cell(column.value(row), widthOf(column), column.right ? 'right' : 'left')}
              {i < columns.length - 1 ? ' ' : ''}
            </Text>
          ))}
        </Text>
      ))}
      {shown.length === 0 && <Text dimColor> {empty}</Text>}
      {Array.from({ length: height - Math.max(1, shown.length) }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: empty lines have nothing else
        <Text key={`empty-${i}`}> </Text>
      ))}
    </>
  )
}
