/**
 * Where somebody is in a list that grows at its top. It follows the newest row until the choice is moved; from then on the rows stand as they were,
 * with what they say kept up to date, until `newest` is called or the choice is moved up from the top.
 */
export class ListPosition<T> {
  readonly #keyOf: (row: T) => string
  /** The rows as they stood when the choice was moved; undefined: it follows. */
  #held: readonly T[] | undefined
  #chosen: string | undefined

  constructor(keyOf: (row: T) => string) {
    this.#keyOf = keyOf
  }

  get follows(): boolean {
    return this.#held === undefined
  }

  /** The rows to show. `current`: those that there are now, the newest first. */
  rows(current: readonly T[]): readonly T[] {
    if (this.#held === undefined) return current
    const now = new Map(current.map((row) => [this.#keyOf(row), row]))
    this.#held = this.#held.map((row) => now.get(this.#keyOf(row)) ?? row)
    return this.#held
  }

  /** Rows that have come since the list stands still. */
  newer(current: readonly T[]): number {
    if (this.#held === undefined) return 0
    const shown = new Set(this.#held.map(this.#keyOf))
    return current.reduce((count, row) => count + (shown.has(this.#keyOf(row)) ? 0 : 1), 0)
  }

  /** The chosen row: the first while it follows. */
  chosen(current: readonly T[]): T | undefined {
    const rows = this.rows(current)
    return (this.#chosen === undefined ? undefined : rows.find((row) => this.#keyOf(row) === this.#chosen)) ?? rows[0]
  }

  move(current: readonly T[], by: number): void {
    const rows = this.rows(current)
    const chosen = this.chosen(current)
    const at = chosen === undefined ? 0 : rows.indexOf(chosen)
    if (at === 0 && by < 0) {
      this.newest()
      return
    }
    const to = rows[Math.min(rows.length - 1, Math.max(0, at + by))]
    if (to === undefined) return
    this.#held = rows
    this.#chosen = this.#keyOf(to)
    // Back at the top, with nothing above: there is nothing to hold.
    if (to === rows[0] && this.newer(current) === 0) this.newest()
  }

  /** Follows the newest again. */
  newest(): void {
    this.#held = undefined
    this.#chosen = undefined
  }

  oldest(current: readonly T[]): void {
    this.move(current, current.length)
  }

  /** Holds the rows as they are, with the choice where it is. */
  hold(current: readonly T[]): void {
    const chosen = this.chosen(current)
    if (chosen === undefined) return
    this.#held = this.rows(current)
    this.#chosen = this.#keyOf(chosen)
  }
}
