import type { SimProcess, StartPlan, Surroundings } from './process.js'
import type { Random } from './random.js'
import type { Weather } from './socket.js'

/** What the world does to workers, at a moment of the script's choosing. */
export class Faults {
  readonly #around: Surroundings
  readonly #processes: Map<number, SimProcess>
  /** The weather when it is neither worse nor better. */
  readonly #usual: Weather
  /** How the next workers start. */
  #starts: StartPlan[] = []

  constructor(around: Surroundings, processes: Map<number, SimProcess>) {
    this.#around = around
    this.#processes = processes
    this.#usual = { ...around.weather }
  }

  #alive(): SimProcess[] {
    return [...this.#processes.values()].filter(({ alive }) => alive)
  }

  #strike(name: string, fn: (process: SimProcess) => void, among: SimProcess[] = this.#alive()): void {
    const { world, coverage } = this.#around
    if (among.length === 0) return
    const process = world.random.pick(among)
    coverage.fault(name)
    world.say(`fault: ${name} (worker ${process.id})`)
    fn(process)
  }

  /** How the next worker starts: mostly well. */
  start(): StartPlan {
    const { random } = this.#around.world
    return this.#starts.shift() ?? { hello: random.between(2, 40), up: random.between(1, 150) }
  }

  badStarts(draw: Random): void {
    const { coverage, world } = this.#around
    const kind = draw.pick(['slow', 'no HELLO', 'no WORKER_UP', 'throws', 'exits', 'killed'] as const)
    const times = draw.between(1, 2)
    coverage.fault(`start: ${kind}`)
    world.say(`fault: the next ${times} starts: ${kind}`)
    for (let i = 0; i < times; i++) {
      const well = { hello: draw.between(2, 40), up: draw.between(1, 150) }
      if (kind === 'slow') this.#starts.push({ hello: draw.between(500, 12_000), up: draw.between(500, 6_000) })
      else if (kind === 'no HELLO') this.#starts.push({ ...well, hello: Number.POSITIVE_INFINITY })
      else if (kind === 'no WORKER_UP') this.#starts.push({ ...well, up: Number.POSITIVE_INFINITY })
      else this.#starts.push({ ...well, failure: kind })
    }
  }

  kill(): void {
    this.#strike('SIGKILL', (process) => process.die({ exitCode: null, signal: 'SIGKILL' }))
  }

  dieWriting(draw: Random): void {
    const after = draw.below(draw.pick([60, 400, 4_000]))
    this.#strike('dies while it writes', (process) => {
      process.main.diesAfterWriting = after
    })
  }

  dieReading(draw: Random): void {
    const after = draw.below(draw.pick([60, 400, 4_000]))
    this.#strike('dies while it reads', (process) => {
      process.main.diesAfterReading = after
    })
  }

  freeze(draw: Random): void {
    const { world } = this.#around
    const ms = draw.pick([10, 200, 3_000, 9_000])
    this.#strike('SIGSTOP', (process) => {
      process.freeze()
      world.after(ms, () => process.thaw())
    })
  }

  breakPipe(draw: Random): void {
    const pipe = draw.pick(['jobs', 'results', 'lifeline'] as const)
    this.#strike(`${pipe} pipe breaks`, (process) => {
      process.broken = true
      process[pipe].break(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    })
  }

  slowAnswers(draw: Random): void {
    const { answers, world, coverage } = this.#around
    answers.latency = draw.pick([20, 300, 2_000])
    coverage.fault('late answers of watchdogs')
    world.after(draw.pick([50, 1_000, 5_000]), () => {
      answers.latency = 0.5
    })
  }

  /** Below the time within which the end of a pipe must be followed by the news of an exit. */
  slowExitNews(draw: Random): void {
    const { exitNews, world, coverage } = this.#around
    exitNews.latency = draw.pick([20, 80, 150])
    coverage.fault('late news of exits')
    world.after(draw.pick([50, 1_000, 5_000]), () => {
      exitNews.latency = 5
    })
  }

  weather(draw: Random): void {
    const { weather, world, coverage } = this.#around
    coverage.fault('slow pipes')
    weather.latency = draw.pick([2, 30, 200])
    weather.cuts = draw.pick([0.1, 0.5, 1])
    world.after(draw.pick([20, 300, 1_500]), () => {
      Object.assign(weather, this.#usual)
    })
  }

  grow(draw: Random): void {
    this.#strike('memory', (process) => {
      process.rss = draw.pick([120e6, 200e6])
      process.fattest = Math.max(process.fattest, process.rss)
    })
  }

  /** From here on nothing is done to anybody. */
  stop(): void {
    const { answers, exitNews, weather } = this.#around
    this.#starts = []
    answers.latency = 0.5
    exitNews.latency = 5
    Object.assign(weather, this.#usual)
    for (const process of this.#processes.values()) {
      process.thaw()
      process.rss = 50e6
      process.main.diesAfterReading = Number.POSITIVE_INFINITY
      process.main.diesAfterWriting = Number.POSITIVE_INFINITY
    }
  }
}
