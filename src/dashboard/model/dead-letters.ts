import type { HistoryEntry } from '../../runtime/delivery.js'
import { type Filtered, readFilter } from './filter.js'
import type { LiveFarm } from './live-farm.js'
import type { NodeTask } from './task-list.js'

/** A job that is not tried again, except by an operator. */
export interface DeadLetterRecord {
  /** Undefined: its message has none, and it cannot be named. */
  readonly id: string | undefined
  /** Undefined: its message cannot be read. */
  readonly task: string | undefined
  readonly queue: string
  readonly reason: string
  /** Name and message of its error. */
  readonly error: string
  readonly stack: string | undefined
  /** ms since the epoch. */
  readonly at: number | undefined
  readonly node: string | undefined
  readonly attempt: number
  readonly losses: number
  /** The runs that failed or were lost, newest last. */
  readonly attempts: readonly HistoryEntry[]
  /** As text, bounded. Undefined: not shown. */
  readonly arguments: string | undefined
}

/** A dead letter in a list. */
export interface ListedLetter extends DeadLetterRecord {
  /** Tells it from the others of the list, and stays the same when the list is read again. */
  readonly key: string
}

/** Messages without an id may have the same queue and time: they are counted. */
const withKeys = (letters: readonly DeadLetterRecord[]): ListedLetter[] => {
  const known = new Map<string, number>()
  return letters.map((letter) => {
    const name = `${letter.queue} ${letter.id ?? ''} ${letter.at ?? ''}`
    const number = (known.get(name) ?? 0) + 1
    known.set(name, number)
    return { ...letter, key: number === 1 ? name : `${name} (${number})` }
  })
}

/** The dead letters of a broker. Whoever opens a dashboard passes it: a dashboard loads no broker. */
export interface DeadLetters {
  /**
   * Reads the dead letters of these queues, the oldest first, at most `limit` in all; they stay where they are. `queues`: empty for the broker's
   * own choice. Where the broker cannot list them, it resolves with their number.
   */
  read(queues: readonly string[], limit: number): Promise<readonly DeadLetterRecord[] | number>
  /** Sends dead letters back to their queues: those with these ids, or all that are there now. Resolves with how many went. */
  retry(queues: readonly string[], ids: readonly string[] | 'all'): Promise<number>
}

const letterLine = ({ task = '', reason, queue, node = '', id, error, arguments: args }: DeadLetterRecord): Filtered => ({
  task,
  state: reason,
  queue,
  node,
  texts: [id, error, args],
})

/** The dead letters that a filter finds, in their order. */
export const queryLetters = (letters: readonly ListedLetter[], filter: string): readonly ListedLetter[] => {
  const matches = readFilter(filter)
  return filter.trim() === '' ? letters : letters.filter((letter) => matches(letterLine(letter)))
}

/** Dead letters that are read at once. */
export const MAX_LETTERS = 1_000

/** Jobs that were given up, as far as the nodes remember: for a broker that cannot list its dead letters. */
const rememberedLetters = (tasks: readonly NodeTask[]): DeadLetterRecord[] =>
  tasks
    .filter(({ status }) => status === 'failure' || status === 'lost')
    .map(({ id, name, queue, error = '', stack, ended, node, counts, attempts = [], arguments: args, status }) => ({
      ...{ id, task: name, queue, reason: status === 'lost' ? 'lost' : 'failed', error, stack, at: ended, node },
      ...{ attempt: counts.attempt, losses: counts.losses, attempts, arguments: args },
    }))

/** The dead letters of a farm as last read, and what an operator does with them. */
export class DeadLetterList {
  /** Of the broker, the newest first; where it cannot list them, those that the nodes remember. */
  letters: readonly ListedLetter[] = []
  /** How many there are, where the broker cannot list them. */
  count: number | undefined
  /** Not all were read. */
  cut = false
  /** They have not been read yet, or the last try has failed. */
  isRead = false
  readonly #source: DeadLetters
  readonly #farm: LiveFarm

  constructor(source: DeadLetters, farm: LiveFarm) {
    this.#source = source
    this.#farm = farm
  }

  /** The queues of the nodes. */
  get queues(): string[] {
    return this.#farm.model.queues(this.#farm.now())
  }

  async read(): Promise<void> {
    this.isRead = false
    const found = await this.#source.read(this.queues, MAX_LETTERS)
    const listed = typeof found !== 'number'
    const letters = withKeys(listed ? found : rememberedLetters(this.#farm.model.tasks(this.#farm.now())))
    this.letters = letters.sort((a, b) => (b.at ?? 0) - (a.at ?? 0))
    this.count = listed ? undefined : found
    this.cut = listed && found.length >= MAX_LETTERS
    this.isRead = true
  }

  /** Sends a job back to its queue. Resolves with false when it is not among the dead letters. */
  async retry(queue: string, id: string): Promise<boolean> {
    return (await this.#source.retry(queue === '' ? this.queues : [queue], [id])) > 0
  }

  /** Sends those back that a filter finds; without a filter all, also those that were not read. Resolves with how many went. */
  async retryMatching(filter: string): Promise<number> {
    if (filter.trim() === '') return await this.#source.retry(this.queues, 'all')
    // A page may be older than the server.
    if (!this.isRead) await this.read()
    const ids = queryLetters(this.letters, filter).flatMap(({ id }) => id ?? [])
    return ids.length === 0 ? 0 : await this.#source.retry(this.queues, ids)
  }
}
