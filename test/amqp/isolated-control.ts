/** Nodes and operators on a control exchange of the test's own. */
import { createControlClient } from '../../src/amqp/index.js'
import type { ControlClient } from '../../src/node/broker.js'
import type { Address, Answer, Command } from '../../src/runtime/report/commands.js'
import { isolatedTopology, RABBITMQ_URL, until } from './rabbit.js'

export const isolatedControl = () => {
  const topology = isolatedTopology()
  const { keep, broker, controlExchange, eventExchange } = topology

  const node = async (name: string, secret?: string) => {
    const made = await broker({ node: name, secret })
    const asked: Command[] = []
    made.control.onCommand(async (command) => {
      asked.push(command)
      if (command.command === 'restart') throw new Error('not now')
      return { pong: name }
    })
    await until('it listens', () => made.control.listening)
    return { ...made, control: made.control, asked }
  }
  const client = async (secret?: string): Promise<ControlClient> =>
    keep(await createControlClient({ url: RABBITMQ_URL, controlExchange, eventExchange, secret }))
  const ask = async (from: ControlClient, to: Address, command: Command, timeout?: number): Promise<Answer[]> => {
    const answers: Answer[] = []
    for await (const answer of from.ask(to, command, { timeout })) answers.push(answer)
    return answers.toSorted((a, b) => a.node.localeCompare(b.node))
  }

  return { ...topology, node, client, ask }
}
