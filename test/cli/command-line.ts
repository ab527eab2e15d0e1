import { EventEmitter } from 'node:events'
import type { CliContext, OutputStream } from '../../src/cli/cli-context.js'
import type { Farm } from '../../src/cli/farm.js'
import { main } from '../../src/cli/main.js'
import type { FarmNode } from '../../src/node/types.js'

export class Written implements OutputStream {
  text = ''
  isTTY: boolean | undefined
  write(text: string): void {
    this.text += text
  }
}

const refused = (): never => {
  throw new Error('The test expects no such call.')
}

/** The command line in this process, over the test's own broker. */
export const commandLine = ({ env = {}, farm = {}, terminal = false }: { env?: CliContext['env']; farm?: Partial<Farm>; terminal?: boolean } = {}) => {
  const [stdout, stderr, signals] = [new Written(), new Written(), new EventEmitter()]
  stdout.isTTY = stderr.isTTY = terminal
  const whole: Farm = {
    createNode: refused,
    createPublisher: refused,
    createControlClient: refused,
    listDeadLetters: refused,
    retryDeadLetters: refused,
    purge: refused,
    ...farm,
  }
  const context: CliContext = {
    stdin: { isTTY: terminal },
    env: { NO_COLOR: '1', ...env },
    folder: import.meta.dirname,
    version: '1.2.3',
    stdout,
    stderr,
    signals,
    farm: async () => whole,
  }
  return { context, stdout, stderr, signals, run: (...typed: string[]) => main(typed, context) }
}

/** A farm with this node, and the arguments that created it. */
export const farmOf = (node: FarmNode) => {
  const created: Parameters<Farm['createNode']>[] = []
  const farm: Partial<Farm> = {
    async createNode(...given) {
      created.push(given)
      return node
    },
  }
  return { farm, created }
}
