import { type Command, type CommandName, readCommand } from '../../runtime/report/commands.js'
import { summarizeProfile } from '../../runtime/report/profile-summary.js'
import { escapeLine } from '../../util/shown-text.js'
import { isCpuProfile } from '../../wire/cpu-profile.js'
import { type DeadLetterList, queryLetters } from '../model/dead-letters.js'
import type { LiveFarm } from '../model/live-farm.js'

/** Commands that the page sends. Others, such as `shutdown`, are for the command line. */
const COMMANDS: ReadonlySet<CommandName> = new Set(['pause', 'resume', 'grow', 'shrink', 'restart', 'revoke', 'stack', 'profile'])
/** Those that change nothing. */
const READ_ONLY: ReadonlySet<CommandName> = new Set(['stack', 'profile'])
/** Calls of a profile that are shown. */
const MAX_CALLS = 40
/** Dead letters in one answer. */
const MAX_SHOWN = 200

type Fields = Readonly<Record<string, unknown>>

/** A request that cannot be carried out as it is. */
export class BadRequest extends Error {}

/** What the page asks for: by the last part of the path, each with the fields of its JSON body. */
export class Operations {
  readonly #farm: LiveFarm
  readonly #dead: DeadLetterList
  readonly #report: (text: string) => void

  /** `report`: gets a line for each change that the page makes. */
  constructor(farm: LiveFarm, dead: DeadLetterList, report: (text: string) => void) {
    this.#farm = farm
    this.#dead = dead
    // An id or a name with a line break must not become a line of its own.
    this.#report = (text) => report(escapeLine(text))
  }

  /** Rejects with BadRequest, or with what the node or the broker has refused. */
  async run(operation: string, fields: Fields): Promise<unknown> {
    switch (operation) {
      case 'command':
        return await this.#command(this.#node(fields), fields.command)
      case 'job':
        return await this.#job(this.#node(fields), text(fields, 'id'))
      case 'dead':
        return await this.#letters(text(fields, 'filter', ''))
      case 'retry':
        return await this.#retry(fields)
      default:
        throw new BadRequest(`There is no operation '${operation}'.`)
    }
  }

  /** A name that nobody has would be waited for. */
  #node(fields: Fields): string {
    const node = text(fields, 'node')
    if (this.#farm.model.get(node) === undefined) throw new BadRequest(`There is no node '${node}'.`)
    return node
  }

  async #command(node: string, given: unknown): Promise<unknown> {
    const command = checked(given)
    if (!COMMANDS.has(command.command)) throw new BadRequest(`The page may not send '${command.command}'. Use prefork control.`)
    if (!READ_ONLY.has(command.command)) this.#report(`${node}: ${JSON.stringify(command)}`)
    const value = (await this.#farm.ask(node, command)) ?? null
    return command.command === 'profile' ? withSummary(value) : value
  }

  async #job(node: string, id: string): Promise<unknown> {
    await this.#farm.refreshJob(node, id)
    return this.#farm.model.get(node)?.tasks.get(id) ?? null
  }

  async #letters(filter: string): Promise<unknown> {
    await this.#dead.read()
    const { count, cut, letters } = this.#dead
    const found = queryLetters(letters, filter)
    return { count, cut, found: found.length, shown: found.slice(0, MAX_SHOWN) }
  }

  /** One job, by `queue` and `id`, or those that `filter` finds. */
  async #retry(fields: Fields): Promise<unknown> {
    if (fields.id !== undefined) {
      const id = text(fields, 'id')
      this.#report(`retry of the dead letter ${id}`)
      return { sent: (await this.#dead.retry(text(fields, 'queue'), id)) ? 1 : 0 }
    }
    const filter = text(fields, 'filter')
    this.#report(filter.trim() === '' ? 'retry of all dead letters' : `retry of the dead letters that match ${JSON.stringify(filter)}`)
    return { sent: await this.#dead.retryMatching(filter) }
  }
}

/** The profile, for a file, and its heaviest calls, for people. */
const withSummary = (value: unknown): unknown => {
  const { profile } = (value ?? {}) as { profile?: unknown }
  if (!isCpuProfile(profile)) throw new Error('the answer is not what this version reads')
  const { duration, samples, idle, calls } = summarizeProfile(profile, { limit: MAX_CALLS })
  return { profile, summary: { duration, samples, idle, calls } }
}

const text = (fields: Fields, name: string, fallback?: string): string => {
  const value = fields[name] ?? fallback
  if (typeof value !== 'string') throw new BadRequest(`'${name}' must be a text.`)
  return value
}

const checked = (given: unknown): Command => {
  try {
    return readCommand(given)
  } catch (error) {
    throw new BadRequest(error instanceof Error ? error.message : String(error))
  }
}
