/** Reads the journal of tasks and nodes: the starts and ends of jobs, with place and time. All times in ms since the epoch. */
import { closeSync, openSync, readSync } from 'node:fs'

/** One start of a job, and its end if it ended. */
export interface Run {
  readonly id: string
  readonly begin: number
  end: number | undefined
  /** Of the worker. */
  readonly pid: number
  /** The node's pid. */
  readonly node: number
}

const addToList = <K, V>(map: Map<K, V[]>, key: K, value: V): void => {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

export class Journal {
  readonly runs = new Map<string, Run[]>()
  /** Jobs that have ended at least once. */
  readonly ended = new Set<string>()
  /** Unexpected exits of workers, by pid. */
  readonly exits = new Map<number, number>()
  /** When a node noticed that its connection was lost, by its pid. */
  readonly disconnections = new Map<number, number[]>()
  readonly #open = new Map<string, Run>()
  readonly #descriptor: number
  #offset = 0
  #rest = ''

  constructor(path: string) {
    this.#descriptor = openSync(path, 'a+')
  }

  /** Reads what has been written since the last time. */
  update(): this {
    const chunk = Buffer.allocUnsafe(1 << 20)
    for (;;) {
      const count = readSync(this.#descriptor, chunk, 0, chunk.length, this.#offset)
      if (count === 0) return this
      this.#offset += count
      const lines = (this.#rest + chunk.toString('latin1', 0, count)).split('\n')
      this.#rest = lines.pop()!
      for (const line of lines) this.#read(line.split(' '))
    }
  }

  #read([mark, ...fields]: string[]): void {
    const [id = '', at, pid, node] = fields
    const key = `${id} ${pid}`
    if (mark === 'begin') {
      const run: Run = { id, begin: Number(at), end: undefined, pid: Number(pid), node: Number(node) }
      this.#open.set(key, run)
      addToList(this.runs, id, run)
    } else if (mark === 'end') {
      const run = this.#open.get(key)
      if (run !== undefined) run.end = Number(at)
      this.#open.delete(key)
      this.ended.add(id)
    } else if (mark === 'exit') this.exits.set(Number(id), Number(at))
    else if (mark === 'disconnected') addToList(this.disconnections, Number(id), Number(at))
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
