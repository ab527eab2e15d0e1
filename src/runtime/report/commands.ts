/** The commands that an operator can send to a node. Times in ms. */
export type Command =
  | { command: 'ping' }
  | { command: 'snapshot' }
  | { command: 'stats' }
  /** `grace`: ms for the drain. Default: the node's `shutdownGrace`. */
  | { command: 'shutdown'; grace?: number }
  | { command: 'quiet' }
  | { command: 'pause' }
  | { command: 'resume' }
  | { command: 'grow'; by?: number }
  | { command: 'shrink'; by?: number }
  | { command: 'autoscale'; min: number; max: number }
  | { command: 'restart' }
  | { command: 'revoke'; id: string; terminate?: boolean }
  /** `limit`: '10/s', '600/m', '1000/h', or null to lift it. Exactly one of `task` and `queue`. */
  | { command: 'rate_limit'; task?: string; queue?: string; limit: string | null }
  | { command: 'stack'; worker: number }

export type CommandName = Command['command']

/** The nodes that a command is for: a list of names, or 'all'. */
export type Address = 'all' | readonly string[]

export type Answer = { node: string; ok: true; value: unknown } | { node: string; ok: false; error: string }
