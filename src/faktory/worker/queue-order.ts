/** The order in which a FETCH names the queues: the server looks at the first that has a job. */
import { type Check, OptionError, plainObject, refusal } from '../../util/checks.js'

/** The queue of a job that names none. */
export const DEFAULT_QUEUE = 'default'

/** The characters of a queue's name, as the server checks them. */
const NAME = /^[a-zA-Z0-9._-]+$/

export const queueName: Check<string> = (name, value) => {
  if (typeof value !== 'string' || !NAME.test(value)) throw refusal(name, 'the name of a queue: letters, digits and . _ -', value)
  return value
}

/** Names, in strict order, or weights by name. */
export type QueueList = readonly string[] | Readonly<Record<string, number>>

const weight = (name: string, value: unknown): number => {
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) throw refusal(name, 'a weight: a number above 0', value)
  return value
}

/** The check of an option: a list of names, or an object of weights. */
export const queueList: Check<QueueList> = (name, value) => {
  if (Array.isArray(value)) {
    if (value.length === 0) throw new OptionError(name, 'must name at least one queue')
    return [...new Set(value.map((each: unknown, index) => queueName(`${name}[${index}]`, each)))]
  }
  const weights = Object.entries(plainObject(name, value))
  if (weights.length === 0) throw new OptionError(name, 'must name at least one queue')
  return Object.fromEntries(weights.map(([each, given]) => [queueName(name, each), weight(`${name}.${each}`, given)]))
}

/** Draws the argument of each FETCH. */
export class QueueOrder {
  readonly names: readonly string[]
  readonly #weights: readonly number[] | undefined
  readonly #random: () => number
  readonly #fixed: string

  /** `queues`: names in strict order, or weights: all queues stay in the list, and are drawn anew for each FETCH. With equal weights they are shuffled. */
  constructor(queues: QueueList, random: () => number = Math.random) {
    this.names = Array.isArray(queues) ? queues : Object.keys(queues)
    this.#weights = Array.isArray(queues) ? undefined : Object.values(queues)
    this.#random = random
    this.#fixed = this.names.join(' ')
  }

  next(): string {
    const weights = this.#weights
    if (weights === undefined || this.names.length === 1) return this.#fixed
    // The same as to shuffle a list with each name in it as often as its weight says, and to keep the first of each: times of exponential distribution.
    const times = this.names.map((name, index) => ({ name, at: -Math.log(1 - this.#random()) / weights[index]! }))
    return times
      .sort((a, b) => a.at - b.at)
      .map(({ name }) => name)
      .join(' ')
  }
}
