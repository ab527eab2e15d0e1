/** Jobs in one chunk. */
const CHUNK = 512
/** Values of a job in `numbers`: its number, its size, its time of submission. */
const NUMBERS = 3
/** Values of a job in `objects`: its task, its arguments, its result, the function that resolves the result. */
const OBJECTS = 4

export type EncodedArgs = Uint8Array | readonly Uint8Array[]

/** A job that has no object of its own yet. */
export interface PackedJob<Task> {
  /** Submission number. */
  number: number
  task: Task
  /** Encoded: mostly one part, which needs no array around it. */
  args: EncodedArgs
  /** Their bytes. */
  size: number
  /** ms on the hub's clock. */
  submittedAt: number
  result: Promise<unknown>
  resolve: (value: unknown) => void
}

class Chunk {
  readonly numbers = new Float64Array(CHUNK * NUMBERS)
  readonly objects: unknown[] = new Array(CHUNK * OBJECTS).fill(undefined)
  next: Chunk | undefined
}

/** What waits, and can stop waiting. */
interface Waiting {
  readonly waiting: boolean
}

/**
 * Jobs that nobody holds but the pool, in order of submission. Each is a few values in arrays until it is first, when `make` makes its object. A million
 * objects that wait would be copied twice and then marked by the garbage collector; an object that is made for its worker dies young.
 */
export class PackedJobs<T extends Waiting, Task> {
  size = 0
  readonly #make: (packed: Readonly<PackedJob<Task>>) => T
  #head: Chunk | undefined
  #tail: Chunk | undefined
  /** A chunk that was emptied, for the next burst. */
  #spare: Chunk | undefined
  /** The place of the first job in the head, and the place behind the last job in the tail. */
  #first = 0
  #end = 0
  /** The object of the first job. */
  #made: T | undefined

  /** `make` is called once for each job. */
  constructor(make: (packed: Readonly<PackedJob<Task>>) => T) {
    this.#make = make
  }

  add(number: number, task: Task, args: EncodedArgs, size: number, submittedAt: number): Promise<unknown> {
    const result = new Promise<unknown>(keepResolve)
    const resolve = lastResolve
    lastResolve = nothing
    const { numbers, objects } = this.#room()
    let at = this.#end * NUMBERS
    numbers[at] = number
    numbers[at + 1] = size
    numbers[at + 2] = submittedAt
    at = this.#end++ * OBJECTS
    objects[at] = task
    objects[at + 1] = args
    objects[at + 2] = result
    objects[at + 3] = resolve
    this.size++
    return result
  }

  /** The number of the first job; Infinity if there is none. */
  get number(): number {
    return this.size === 0 ? Number.POSITIVE_INFINITY : this.#head!.numbers[this.#first * NUMBERS]!
  }

  /** The first job, if it has an object already. */
  get made(): T | undefined {
    return this.#made
  }

  /** The first job, which is still waiting; undefined if there is none. */
  peek(): T | undefined {
    while (this.size > 0) {
      this.#made ??= this.#makeFirst()
      if (this.#made.waiting) return this.#made
      this.shift()
    }
    return undefined
  }

  shift(): void {
    this.#made = undefined
    const head = this.#head!
    const at = this.#first++ * OBJECTS
    head.objects[at + 1] = undefined
    head.objects[at + 2] = undefined
    head.objects[at + 3] = undefined
    if (--this.size === 0) {
      // The last chunk is used again: most pools need no other.
      this.#first = 0
      this.#end = 0
    } else if (this.#first === CHUNK) {
      this.#head = head.next
      this.#first = 0
      head.next = undefined
      this.#spare = head
    }
  }

  /** Empties the queue and returns what was in it, in order. */
  drain(): T[] {
    const all: T[] = []
    for (let job = this.peek(); job !== undefined; job = this.peek()) {
      all.push(job)
      this.shift()
    }
    return all
  }

  #makeFirst(): T {
    const { numbers, objects } = this.#head!
    const n = this.#first * NUMBERS
    const o = this.#first * OBJECTS
    return this.#make({
      number: numbers[n]!,
      size: numbers[n + 1]!,
      submittedAt: numbers[n + 2]!,
      task: objects[o] as Task,
      args: objects[o + 1] as EncodedArgs,
      result: objects[o + 2] as Promise<unknown>,
      resolve: objects[o + 3] as (value: unknown) => void,
    })
  }

  /** The chunk of the next job. */
  #room(): Chunk {
    let tail = this.#tail
    if (tail === undefined || this.#end === CHUNK) {
      const added = this.#spare ?? new Chunk()
      this.#spare = undefined
      if (tail === undefined) this.#head = added
      else tail.next = added
      this.#tail = tail = added
      this.#end = 0
    }
    return tail
  }
}

const nothing = (): void => {}
let lastResolve: (value: unknown) => void = nothing
/** One function for all promises: a closure for each would be garbage at each call. */
const keepResolve = (resolve: (value: unknown) => void): void => {
  lastResolve = resolve
}
