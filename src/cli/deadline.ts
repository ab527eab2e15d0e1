import { CommandError, EXIT } from './exit.js'

/** ms that a command has to say goodbye to the broker when its own time is over; what is left then is cut. */
const LAST = 500

/** What a command may take, from the first connection to the last close. */
export class Deadline {
  readonly #end: number

  /** `total`: ms. */
  constructor(readonly total: number) {
    this.#end = performance.now() + total
  }

  /** ms, 1 at the least: whoever is given them refuses none. */
  get left(): number {
    return Math.max(1, Math.ceil(this.#end - performance.now()))
  }

  /** As people read it. */
  get shown(): string {
    return `${this.total / 1_000} s`
  }

  /** What `doing` comes to; rejects with `late`, exit code 4, when the time is over before. */
  async bound<T>(doing: Promise<T>, late: string): Promise<T> {
    return await within(this.left, doing, () => {
      throw new CommandError(late, EXIT.broker)
    })
  }

  /** Waits for a close as long as there is time, and for a moment in any case: the process ends afterwards, and nothing hangs on it. */
  async closing(close: Promise<unknown>): Promise<void> {
    await within(
      Math.max(LAST, this.left),
      close.then(() => {}),
      () => {},
    )
  }
}

const within = async <T>(ms: number, doing: Promise<T>, late: () => T): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<T>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    }, ms)
  })
  try {
    return await Promise.race([doing, over])
  } finally {
    clearTimeout(timer)
  }
}
