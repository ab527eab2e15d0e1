/** What the process ends with; documented in docs/farm-cli.md. */
export const EXIT = {
  /** Done; of `work`: every job in flight ended by itself. */
  ok: 0,
  /** Anything that has no number of its own. */
  failed: 1,
  /** A flag, an argument or a variable that cannot be used. */
  usage: 2,
  /** `work`: the grace was over, and jobs that had begun were killed. */
  killed: 3,
  /** The broker cannot be reached, or refused. */
  broker: 4,
  /** Nobody answered in time. */
  noAnswer: 5,
  /** `publish --wait`: the task failed; `control`: a node refused. */
  refused: 6,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An end with a number of its own. The message is one line and says what to do. */
export class CommandError extends Error {
  override name = 'CommandError'
  constructor(
    message: string,
    readonly exitCode: ExitCode,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A flag, an argument or a variable that cannot be used. */
export class UsageError extends CommandError {
  override name = 'UsageError'
  constructor(message: string) {
    super(message, EXIT.usage)
  }
}
