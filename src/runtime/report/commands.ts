/** What an operator may ask of a node, whatever carries it. Times in ms. */
export type Command =
  | { command: 'ping' }
  | { command: 'snapshot' }
  | { command: 'stats' }
  /** `grace`: ms for the drain; default the node's own. */
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

/** To whom: one node, some, or explicitly all. */
export type Address = 'all' | readonly string[]

export type Answer = { node: string; ok: true; value: unknown } | { node: string; ok: false; error: string }
