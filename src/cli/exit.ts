/** The exit codes; docs/farm-cli.md documents them. */
export const EXIT = {
  /** Done; of `work`: every job in flight ended by itself. */
  ok: 0,
  /** Any other failure. */
  failed: 1,
  /** An invalid flag, argument or variable. */
  usage: 2,
  /** `work`: jobs that had begun were killed when the grace was over, or jobs that had not could not go back. */
  killed: 3,
  /** The broker cannot be reached, or refused. */
  broker: 4,
  /** No answer in time. */
  noAnswer: 5,
  /** `publish --wait`: the task failed; `control`: a node refused. */
  refused: 6,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An error with an exit code. The message is one line and says what to do. */
export class CommandError extends Error {
  override name = 'CommandError'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** An invalid flag, argument or variable. */
export class UsageError extends CommandError {
  override name = 'UsageError'
  constructor(message: string) {
    super(message, EXIT.usage)
  }
}
