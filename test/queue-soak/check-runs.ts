/** Says what went wrong, from what the processes of a proof have written down and what the store holds at the end. It asks neither for anything else. */

/** `begun` and `ended` are written by a run, `confirmed` when the store has taken its end, `added` and `flow` when it has taken an add. */
export interface JournalLine {
  readonly mark: string
  readonly id: string
  /** ms since the epoch; NaN: not written. */
  readonly at: number
  /** The process; empty: not written. */
  readonly by: string
}

export const parseJournal = (text: string): JournalLine[] =>
  text
    .split('\n')
    // The last line may be cut off by a death.
    .slice(0, -1)
    .map((line) => {
      const [mark = '', id = '', at, by = ''] = line.split(' ')
      return { mark, id, at: Number(at), by }
    })

export interface RunFacts {
  /** Ids of jobs that were added, as the store has confirmed. */
  readonly added: Iterable<string>
  /** In the order of their writing, by whatever process. */
  readonly lines: readonly JournalLine[]
  /** The state of each job that the store holds at the end. */
  readonly states: ReadonlyMap<string, string>
  /** Names of flows that were begun to be added, and how many jobs each has; the ids of its jobs are `flow-<name>-…`. */
  readonly flowSize?: number
}

export interface RunProblems {
  /** Added, or confirmed as completed, and at the end not there, or not completed. */
  readonly lost: string[]
  readonly confirmedTwice: string[]
  readonly begunAfterEnd: string[]
  /** Completed, and no run has ended. */
  readonly neverRan: string[]
  /** Flows of which a part is there, or that were confirmed and are not. */
  readonly tornFlows: string[]
}

/** `completes`: all that was added is to be completed at the end. */
export const checkRuns = ({ added, lines, states, flowSize = 0 }: RunFacts, completes = true): RunProblems => {
  const confirmed = new Set<string>()
  const ended = new Set<string>()
  const problems: RunProblems = { lost: [], confirmedTwice: [], begunAfterEnd: [], neverRan: [], tornFlows: [] }
  for (const { mark, id } of lines) {
    if (mark === 'begun' && confirmed.has(id)) problems.begunAfterEnd.push(id)
    else if (mark === 'ended') ended.add(id)
    else if (mark === 'confirmed' && confirmed.has(id)) problems.confirmedTwice.push(id)
    else if (mark === 'confirmed') confirmed.add(id)
  }
  const isThere = (id: string): boolean => (completes || confirmed.has(id) ? states.get(id) === 'completed' : states.has(id))
  for (const id of new Set([...added, ...confirmed])) if (!isThere(id)) problems.lost.push(id)
  for (const [id, state] of states) if (state === 'completed' && !ended.has(id)) problems.neverRan.push(id)
  problems.tornFlows.push(...tornFlows(lines, states, flowSize))
  return problems
}

const tornFlows = (lines: readonly JournalLine[], states: ReadonlyMap<string, string>, size: number): string[] => {
  const found = new Map<string, number>()
  for (const { mark, id } of lines) if (mark === 'flow') found.set(id, 0)
  for (const id of states.keys()) {
    const name = /^flow-(.*)-[^-]+$/.exec(id)?.[1]
    if (name !== undefined) found.set(name, (found.get(name) ?? 0) + 1)
  }
  return [...found].flatMap(([name, count]) => (count === size ? [] : [`${name}: ${count} of ${size}`]))
}

/** One line for each kind of problem that was found. */
export const problemLines = (problems: RunProblems): string[] =>
  Object.entries(problems).flatMap(([kind, ids]: [string, string[]]) =>
    ids.length === 0 ? [] : [`${kind}: ${ids.length} (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`],
  )
