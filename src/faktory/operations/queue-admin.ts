import { refusal } from '../../util/checks.js'
import { queueName } from '../worker/queue-order.js'
import { readObject } from './server-info.js'

/** Sends a command and resolves with its answer. */
export type SendCommand = (verb: string, argument?: string) => Promise<string | null>

const EVERY = '*'

const namesFrom = (call: string, names: readonly unknown[], everyToo: boolean): string => {
  if (names.length === 0) throw refusal('queues', `one or more names: queue.${call}('critical', 'default')`, undefined)
  if (everyToo && names.length === 1 && names[0] === EVERY) return EVERY
  return names.map((each, index) => queueName(`queues[${index}]`, each)).join(' ')
}

/** The queues of a server. Each method rejects with TypeError for a name that no queue can have, and as `publish`. */
export class QueueAdmin {
  readonly #send: SendCommand

  /** @internal Use `publisher.queue`. */
  constructor(send: SendCommand) {
    this.#send = send
  }

  /**
   * The server gives out no job of these queues any more; `'*'`: of none. A FETCH that waits already still gets one. A queue that nothing was ever
   * pushed to cannot be paused: the server ignores it.
   */
  async pause(...queues: readonly string[]): Promise<void> {
    await this.#send('QUEUE', `PAUSE ${namesFrom('pause', queues, true)}`)
  }

  /** `'*'`: every queue. */
  async resume(...queues: readonly string[]): Promise<void> {
    await this.#send('QUEUE', `RESUME ${namesFrom('resume', queues, true)}`)
  }

  /** Removes the queues with the jobs that wait in them, irrevocably; `'*'`: every queue. */
  async remove(...queues: readonly string[]): Promise<void> {
    await this.#send('QUEUE', `REMOVE ${namesFrom('remove', queues, true)}`)
  }

  /** Seconds for which the oldest job of each queue has waited; 0 for an empty queue. The server must be of version 1.9.2 or newer. */
  async latency(...queues: readonly string[]): Promise<Readonly<Record<string, number>>> {
    return readObject('QUEUE LATENCY', await this.#send('QUEUE', `LATENCY ${namesFrom('latency', queues, false)}`)) as Readonly<Record<string, number>>
  }
}
