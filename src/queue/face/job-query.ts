import { type Check, choice, countFrom, OptionError, objectWith, refusal } from '../../util/checks.js'
import { type OptionTable, option, readOptions } from '../../util/option-table.js'
import { validName } from '../jobs/names.js'
import { END_STATES, type EndState } from '../store/ended-jobs.js'
import { JOB_STATES, type JobSelector, type JobState } from '../store/store.js'

/** Which jobs of a queue: each field that is given must hold. */
export interface JobQuery {
  ids?: readonly string[]
  states?: readonly JobState[]
  task?: string
  /** ms: only jobs that ended longer ago. */
  endedBefore?: number
  /** The `seq` of the last job of the page before. */
  after?: number
  /** Jobs at most: `jobs` 100 by default, and at most 1,000; a change all by default. */
  limit?: number
}

const state = choice(...JOB_STATES)

const listOf =
  <T>(check: Check<T>): Check<T[]> =>
  (name, value) => {
    if (!Array.isArray(value)) throw new OptionError(name, 'must be an array')
    return value.map((each: unknown, index) => check(`${name}[${index}]`, each))
  }

const endState: Check<EndState> = (name, value) => {
  const found = END_STATES.find((each) => each === value)
  if (found === undefined) throw refusal(name, `${END_STATES.map((each) => `'${each}'`).join(' or ')}: drain() and remove() remove what has not ended`, value)
  return found
}

/** The ended states that were given; all of them if none were. Throws TypeError for a state that is no end. */
export const endStates = (name: string, value: unknown): readonly EndState[] => (value === undefined ? END_STATES : listOf(endState)(name, value))

const QUERY = {
  ids: option('ids', listOf(validName), undefined, 'only these'),
  states: option('states', listOf(state), undefined, 'only jobs in one of these states'),
  task: option('text', validName, undefined, 'only jobs of this task'),
  endedBefore: option('ms', countFrom(0), undefined, 'only jobs that ended longer ago'),
  after: option('seq', countFrom(0), undefined, 'only jobs after this one'),
  limit: option('jobs', countFrom(1), undefined, 'at most so many'),
} satisfies OptionTable<JobQuery>

const NAMES = Object.keys(QUERY)

/** The query as a store takes it. Throws TypeError naming the field. */
export const selectorOf = (what: string, queue: string, query: unknown): JobSelector => {
  const read = readOptions(QUERY, what, objectWith('query', query, NAMES))
  return { queue, ...Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined)) }
}

/** What is meant by a change: an id, several, or a query. */
export const changeSelector = (what: string, queue: string, meant: unknown): JobSelector => {
  if (typeof meant === 'string') return { queue, ids: [validName('id', meant)] }
  if (Array.isArray(meant)) return { queue, ids: listOf(validName)('ids', meant) }
  if (typeof meant !== 'object' || meant === null)
    throw refusal('jobs', "an id, an array of ids, or a query such as { states: ['failed'] }; {} means all jobs", meant)
  return selectorOf(what, queue, meant)
}
