/** What travels over the control and event exchanges, as JSON: anybody can read along, and answer. */
import type { Address, Answer, Command } from '../../runtime/report/commands.js'
import { isFarmEvent } from '../../runtime/report/read-report.js'
import type { FarmEvent } from '../../runtime/report/report.js'

export const JSON_TYPE = 'application/json'
/** The key under which every event is published to the direct exchange. */
export const EVENT_KEY = 'event'
/** Bytes of a command, at the most. */
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

/** Undefined: not a command. What the command asks is for the node to check. */
export const readControl = (body: Buffer): ControlMessage | undefined => {
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

/** Events are plain texts and figures: nothing in them needs to be looked at one by one. */
export const writeEvents = (events: readonly FarmEvent[]): Buffer => Buffer.from(JSON.stringify(events))

/** A message carries many. What is no event, or one that those who listen could not rely on, is left out. */
export const readEvents = (body: Buffer): FarmEvent[] => {
  const events = parse(body)
  return Array.isArray(events) ? events.filter(isFarmEvent) : []
}
