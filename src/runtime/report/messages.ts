/** Commands, answers and events as JSON, whatever carries them: a client in any language can read and write them. */
import type { Address, Answer, Command } from './commands.js'
import { isFarmEvent } from './read-report.js'
import type { FarmEvent } from './report.js'

/** Bytes of a command at most. */
const MAX_COMMAND = 1_048_576

export interface ControlMessage {
  readonly to: Address
  readonly command: Command
}

export const toJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each)))

const parse = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** Undefined: not a command. The node checks the command itself. */
export const readControlMessage = (body: Buffer): ControlMessage | undefined => {
  if (body.length > MAX_COMMAND) return undefined
  const message = parse(body) as Partial<ControlMessage> | null | undefined
  const { to, command } = message ?? {}
  if (to !== 'all' && !(Array.isArray(to) && to.every((each) => typeof each === 'string'))) return undefined
  if (typeof command !== 'object' || command === null || typeof (command as { command?: unknown }).command !== 'string') return undefined
  return { to, command }
}

export const readAnswer = (body: Buffer): Answer | undefined => {
  const answer = parse(body) as Partial<Answer> | null | undefined
  return typeof answer?.node === 'string' && typeof answer.ok === 'boolean' ? (answer as Answer) : undefined
}

/** Events have only JSON values: no replacer is needed. */
export const writeEvents = (events: readonly FarmEvent[]): Buffer => Buffer.from(JSON.stringify(events))

/** The events of one message. Invalid ones are left out. */
export const readEvents = (body: Buffer): FarmEvent[] => {
  const events = parse(body)
  return Array.isArray(events) ? events.filter(isFarmEvent) : []
}
