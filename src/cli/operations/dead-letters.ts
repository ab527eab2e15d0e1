import type { DeadLetterRecord, DeadLetters } from '../../dashboard/model/dead-letters.js'
import { shownArguments } from '../../runtime/report/shown-arguments.js'
import { textWithoutPasswords } from '../../util/redact.js'
import type { DeadLetter, Farm } from '../farm.js'
import type { BrokerSettings } from '../settings/broker.js'
import type { Flags } from '../settings/setting.js'

/** The dead letters of a broker, for a dashboard. With the flag `--queue` only those of these queues, whatever queues the nodes have. */
export const deadLettersOf = (farm: Farm, broker: BrokerSettings, flags: Flags): DeadLetters => {
  const showArguments = flags.arguments !== false
  const chosen = (queues: readonly string[]): readonly string[] => (flags.queue !== undefined || queues.length === 0 ? broker.queues : queues)
  const recordOf = ({ args, error, stack, ...letter }: DeadLetter): DeadLetterRecord => ({
    ...letter,
    error: textWithoutPasswords(error),
    stack: stack === undefined ? undefined : textWithoutPasswords(stack),
    arguments: showArguments && args !== undefined ? shownArguments({ args }) : undefined,
  })
  let last: Promise<unknown> = Promise.resolve()
  // One after the other: RabbitMQ lends a message to one reader at a time. A second one would see what the first has not read yet, and miss what it holds.
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const mine = last.then(run, run)
    last = mine
    return mine
  }
  const letters: DeadLetters = {
    async read(queues, limit) {
      if (farm.countDeadLetters !== undefined) return await farm.countDeadLetters(broker)
      const found: DeadLetterRecord[] = []
      for (const queue of chosen(queues)) {
        if (found.length >= limit) break
        found.push(...(await farm.listDeadLetters(broker, queue, { limit: limit - found.length })).map(recordOf))
      }
      return found
    },
    async retry(queues, ids) {
      let sent = 0
      for (const queue of chosen(queues)) sent += await farm.retryDeadLetters(broker, queue, ids === 'all' ? {} : { ids })
      return sent
    },
  }
  return { read: (queues, limit) => inTurn(() => letters.read(queues, limit)), retry: (queues, ids) => inTurn(() => letters.retry(queues, ids)) }
}
