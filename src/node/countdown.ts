/** A deadline that can be brought forward, never put off. */
export class Countdown {
  readonly over: Promise<void>
  #resolve: () => void = () => {}
  #endsAt: number
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.over = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#endsAt = Number.POSITIVE_INFINITY
    this.shorten(ms)
  }

  /** It is over in `ms` at the latest. */
  shorten(ms: number): void {
    const endsAt = performance.now() + ms
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#resolve, ms)
  }

  get left(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
