/** First and longest pause without new jobs for a worker that does not accept its jobs, ms. */
const FIRST_PAUSE_MS = 10
const MAX_PAUSE_MS = 1_000

/** The state of a worker's process, from its heartbeats and answers. Times are ms on the hub's clock. */
export class Heartbeats {
  /** When the worker last sent a message that does not depend on a job. */
  #lastAt: number
  #mainAge = 0
  #rss = 0
  #cpu: number | undefined

  constructor(now: number) {
    this.#lastAt = now
  }

  get lastAt(): number {
    return this.#lastAt
  }

  /** ms since the main thread's last turn, by the last heartbeat. */
  get mainAge(): number {
    return this.#mainAge
  }

  /** Resident bytes; 0 until they were measured. */
  get rss(): number {
    return this.#rss
  }

  /** CPU time that the process has used, ms; undefined until a heartbeat has told. */
  get cpu(): number | undefined {
    return this.#cpu
  }

  /** A message has come. */
  received(now: number): void {
    this.#lastAt = now
  }

  /** A HEARTBEAT has come. */
  beat(now: number, rss: number, mainAge: number, cpu: number): void {
    this.#lastAt = now
    this.#mainAge = mainAge
    this.#cpu = cpu
    this.measured(rss)
  }

  /** `rss`: 0 where it was not measured. */
  measured(rss: number): void {
    if (rss > 0) this.#rss = rss
  }

  /** The host itself was `late` ms late. That time does not count as silence of the worker. */
  extendForHostDelay(late: number, now: number): void {
    this.#lastAt = Math.min(now, this.#lastAt + late)
  }
}

/** Whether a worker accepts the jobs that are written to it. Times are ms on the hub's clock. */
export class Progress {
  #lastAt = 0
  #heldSince = 0
  #pausedUntil = 0
  #pause = 0

  /** When the worker last accepted or answered a job, or came up. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** Since when the worker has held a job without accepting or answering any. */
  get heldSince(): number {
    return Math.max(this.#heldSince, this.#lastAt)
  }

  /** `at`, bounded to times at which the job can have been accepted: a worker's clock is not trusted. */
  clamp(at: number, now: number): number {
    return at <= now ? Math.max(at, this.heldSince) : now
  }

  /** The worker gets no new job before this time, because it did not accept the jobs written to it. */
  get pausedUntil(): number {
    return this.#pausedUntil
  }

  /** The length of the last pause, ms; 0 once the worker has accepted or answered a job. */
  get pause(): number {
    return this.#pause
  }

  cameUp(now: number): void {
    this.#lastAt = now
  }

  /** The worker has accepted or answered a job. */
  made(now: number): void {
    this.#lastAt = now
    this.#pausedUntil = 0
    this.#pause = 0
  }

  /** A job was written to a worker that had accepted all others. */
  written(now: number): void {
    this.#heldSince = now
  }

  /** The jobs that the worker held are recalled. Returns how long it gets no new job, ms: twice as long as the last time. */
  backOff(now: number): number {
    this.#pause = Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pause))
    this.#pausedUntil = now + this.#pause
    return this.#pause
  }
}
