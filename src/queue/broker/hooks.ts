import { type Check, refusal } from '../../util/checks.js'

/** What a hook of a node gets. */
export interface HookInfo {
  /** The option `store`. */
  readonly store: string
  /** The name of the node. */
  readonly node: string
  readonly queues: readonly string[]
}

export type NodeHook = (info: HookInfo) => unknown

/** One function or several. */
export const hooks: Check<readonly NodeHook[]> = (name, value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  const wrong = all.findIndex((each) => typeof each !== 'function')
  if (wrong !== -1) throw refusal(Array.isArray(value) ? `${name}[${wrong}]` : name, 'a function, or an array of them', all[wrong])
  return all as readonly NodeHook[]
}

/** The hooks of a node, each called once. */
export class NodeHooks {
  readonly #info: HookInfo
  readonly #onStartup: readonly NodeHook[]
  readonly #onShutdown: readonly NodeHook[]
  #started = false

  constructor(info: HookInfo, onStartup: readonly NodeHook[], onShutdown: readonly NodeHook[]) {
    this.#info = info
    this.#onStartup = onStartup
    this.#onShutdown = onShutdown
  }

  /** Rejects with what the first that fails throws; those after it are not called. */
  async start(): Promise<void> {
    this.#started = true
    for (const hook of this.#onStartup) await hook(this.#info)
  }

  /** Also after a start that failed: what its first hooks opened is to be closed. `failed` gets what one throws; the others are called all the same. */
  async stop(failed: (error: unknown) => void): Promise<void> {
    if (!this.#started) return
    this.#started = false
    for (const hook of this.#onShutdown) {
      try {
        await hook(this.#info)
      } catch (error) {
        failed(error)
      }
    }
  }
}
