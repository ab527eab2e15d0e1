import { existsSync, readFileSync } from 'node:fs'

type Read = (path: string) => string | undefined

const readText: Read = (path) => {
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

/** The files that may count the kills in the cgroup of this process, of version 2 and of version 1. In a container its cgroup is often the root of the mount. */
const countersOf = (cgroups: string): string[] =>
  [...cgroups.matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)].flatMap(([, controllers, path]) => {
    const folder = path === '/' ? '' : path
    if (controllers === '') return [`/sys/fs/cgroup${folder}/memory.events`, '/sys/fs/cgroup/memory.events']
    if (!controllers!.split(',').includes('memory')) return []
    return [`/sys/fs/cgroup/memory${folder}/memory.oom_control`, '/sys/fs/cgroup/memory/memory.oom_control']
  })

/** Tells whether the kernel killed a worker because memory was exhausted: it counts these kills for each cgroup, and workers are in the host's. */
export class OomKills {
  readonly #read: Read
  #counter: string | undefined
  /** Kills that are accounted for. */
  #seen = 0

  constructor(read: Read = readText) {
    this.#read = read
  }

  /** Counts from now on. Two small files are read. */
  begin(): void {
    if (process.platform !== 'linux') return
    this.#counter = countersOf(this.#read('/proc/self/cgroup') ?? '').find((path) => this.#count(path) !== undefined)
    this.#seen = this.#total()
  }

  /** True if there was one more such kill: to be asked when a worker has died of SIGKILL that the pool did not send. */
  take(): boolean {
    if (this.#total() <= this.#seen) return false
    this.#seen++
    return true
  }

  #total(): number {
    return this.#counter === undefined ? 0 : (this.#count(this.#counter) ?? 0)
  }

  #count(path: string): number | undefined {
    const found = /^oom_kill (\d+)$/m.exec(this.#read(path) ?? '')
    return found === null ? undefined : Number(found[1])
  }
}
