/** The arguments of `client.ask`, and its answers. The arguments are checked here: a node drops an invalid command without an answer. */

import type { Address, Answer } from '../../runtime/report/commands.js'
import { toJson } from '../../runtime/report/messages.js'
import { arrayOf, isString, milliseconds, plainObject, refusal, refuseUnknownNames } from '../../util/checks.js'
import { deferred } from '../../util/with-timeout.js'

const DEFAULT_TIMEOUT = 2_000

export interface ControlRequest {
  readonly to: Address
  /** The message for the nodes, encoded: later changes to the command have no effect. */
  readonly body: Buffer
  /** ms */
  readonly timeout: number
}

const isName = (value: unknown): value is string => isString(value) && value !== ''

const readAddress = (to: unknown): Address => {
  if (to === 'all') return to
  return [...arrayOf('to', to, `an array of the names of nodes${isName(to) ? `, ['${to}'],` : ''} or 'all'`, 'the name of a node', isName)]
}

/** Each node checks the name of the command: a node of a later version may know more. */
const checkCommand = (command: unknown): void => {
  if (typeof command !== 'object' || command === null || Array.isArray(command))
    throw refusal('command', `an object, as in { command: '${isName(command) ? command : 'ping'}' }`, command)
  const { command: name } = command as { command?: unknown }
  if (!isName(name)) throw refusal('command.command', "the name of a command, as in { command: 'ping' }", name)
}

const readTimeout = (options: unknown): number => {
  if (options === undefined) return DEFAULT_TIMEOUT
  const given = plainObject('options', options)
  refuseUnknownNames('client.ask', given, ['timeout'])
  return given.timeout === undefined ? DEFAULT_TIMEOUT : milliseconds('timeout', given.timeout)
}

/** @throws {TypeError} an argument is invalid */
export const readControlRequest = (to: unknown, command: unknown, options: unknown): ControlRequest => {
  const address = readAddress(to)
  checkCommand(command)
  return { to: address, body: toJson({ to: address, command }), timeout: readTimeout(options) }
}

/** The answers to one request, in order of arrival. `undefined` in the queue is its end, an error ends it with a rejection. */
export class AnswerQueue {
  readonly #ready: (Answer | Error | undefined)[] = []
  #wake: (() => void) | undefined

  push(answer: Answer | Error | undefined): void {
    this.#ready.push(answer)
    this.#wake?.()
  }

  async next(): Promise<Answer | undefined> {
    while (this.#ready.length === 0) {
      const pushed = deferred()
      this.#wake = pushed.resolve
      await pushed.promise
    }
    const answer = this.#ready.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
}
