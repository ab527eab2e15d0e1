import type { ControlClient } from '../../node/broker.js'
import type { FarmNode } from '../../node/types.js'
import type { Command } from '../../runtime/report/commands.js'
import { isNodeStats } from '../../runtime/report/read-report.js'
import type { FarmEvent } from '../../runtime/report/report.js'
import { MAX_TIME } from '../../util/limits.js'
import { clearInterval, setInterval } from '../../util/node-time.js'
import { DEFAULT_PROFILE_MS, NATIVE_CODE_MS } from '../../wire/cpu-profile.js'

/** The source of events, and the target of commands: a node of this process, or all nodes of a broker. */
export interface FarmSource {
  /** Calls `receive` with each event, and soon with a `node.heartbeat` of each node that is up already. */
  open(receive: (event: FarmEvent) => void): Promise<void>
  /** Resolves with the node's answer; rejects when it refuses or does not answer. */
  ask(node: string, command: Command): Promise<unknown>
  /** False while its own connection to the broker is lost. Default true. */
  readonly connected?: boolean
  close(): Promise<void>
}

/** ms between two reads of a local node's statistics: they cost nothing, so they need not wait for a heartbeat. */
const LOCAL_INTERVAL = 500

/** The node of this process. */
export class LocalSource implements FarmSource {
  readonly #node: FarmNode
  #stop: (() => void) | undefined

  constructor(node: FarmNode) {
    this.#node = node
  }

  async open(receive: (event: FarmEvent) => void): Promise<void> {
    const node = this.#node
    const report = (): void => receive({ type: 'node.heartbeat', node: node.name, at: Date.now(), stats: node.stats() })
    const unlisten = node.onEvent((event) => {
      if (event.type !== 'node.heartbeat') receive(event)
    })
    const timer = setInterval(report, LOCAL_INTERVAL)
    this.#stop = () => {
      clearInterval(timer)
      unlisten()
    }
    report()
  }

  ask(_: string, command: Command): Promise<unknown> {
    return this.#node.command(command)
  }

  async close(): Promise<void> {
    this.#stop?.()
  }
}

/** ms to wait for the answers of all nodes when the dashboard opens. */
const FIRST_ANSWERS_TIMEOUT = 1_000
/** ms to wait for the answer of one node. */
const ANSWER_TIMEOUT = 5_000

/** All nodes of a broker, over the control exchange. */
export class RemoteSource implements FarmSource {
  readonly #client: ControlClient
  #unlisten: (() => Promise<void>) | undefined

  constructor(client: ControlClient) {
    this.#client = client
  }

  get connected(): boolean {
    return this.#client.connected !== false
  }

  async open(receive: (event: FarmEvent) => void): Promise<void> {
    this.#unlisten = await this.#client.listen(receive)
    // Not awaited: a node that does not answer appears with its next heartbeat.
    this.#askAll(receive).catch(() => {})
  }

  async #askAll(receive: (event: FarmEvent) => void): Promise<void> {
    const options = { timeout: FIRST_ANSWERS_TIMEOUT }
    // Statistics have no time, and the times of the first jobs are read by the difference of the clocks.
    const clocks = new Map<string, number>()
    const readClocks = async (): Promise<void> => {
      for await (const answer of this.#client.ask('all', { command: 'ping' }, options)) {
        const at = answer.ok ? (answer.value as { at?: unknown } | null)?.at : undefined
        if (typeof at === 'number' && Math.abs(at) <= MAX_TIME) clocks.set(answer.node, at)
      }
    }
    readClocks().catch(() => {})
    for await (const answer of this.#client.ask('all', { command: 'stats' }, options)) {
      const { node } = answer
      if (answer.ok && isNodeStats(answer.value)) receive({ type: 'node.heartbeat', node, at: clocks.get(node) ?? Date.now(), stats: answer.value })
    }
  }

  async ask(node: string, command: Command): Promise<unknown> {
    const timeout = ANSWER_TIMEOUT + (command.command === 'profile' ? (command.ms ?? DEFAULT_PROFILE_MS) + NATIVE_CODE_MS : 0)
    for await (const answer of this.#client.ask([node], command, { timeout })) {
      if (!answer.ok) throw new Error(answer.error)
      return answer.value
    }
    throw new Error(`no answer within ${timeout / 1_000} s`)
  }

  async close(): Promise<void> {
    await this.#unlisten?.()
  }
}
