/** A job that both libraries run. */
export interface JobRequest {
  readonly name: string
  readonly data: unknown
  /** Absent: the library's default. */
  readonly attempts?: number
}

/** How a job has ended, in BullMQ's words and in those of prefork. */
export interface Ended {
  readonly state: string
  readonly attempts: number
  /** Runs that ended with their process. */
  readonly losses: number
  /** Of a completed job. */
  readonly value?: unknown
  /** The message of the error of a failed one. */
  readonly reason?: string
}
