/** What the runs of a simulation have reached. */
export class Coverage {
  runs = 0
  steps = 0
  commits = 0
  readonly #counts = new Map<string, number>()

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
  }

  missing(required: readonly string[]): string[] {
    return required.filter((what) => !this.#counts.has(what))
  }

  report(): string {
    const lines = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `  ${what}: ${count}`)
    return [...lines, `${this.runs} runs, ${this.steps} steps, ${this.commits} commits`].join('\n')
  }
}

const MEMORY = [
  'new → waiting',
  'new → delayed',
  'new → blocked',
  'new → failed',
  'waiting → active',
  'waiting → expired',
  'waiting → cancelled',
  'delayed → waiting',
  'delayed → expired',
  'delayed → cancelled',
  'blocked → waiting',
  'blocked → failed',
  'blocked → expired',
  'blocked → cancelled',
  'active → waiting',
  'active → delayed',
  'active → completed',
  'active → failed',
  'active → cancelled',
  'failed → waiting',
  'cancelled → waiting',
  'expired → waiting',
  'waiting → gone',
  'completed → gone',
  'failed → gone',
  'settled: completed',
  'completed after a lost run',
  'settled: retry',
  'settled: release',
  'refused a settlement',
  'a session died: begun',
  'a session died: not begun',
  'a bulk was refused',
  'a job was there already',
  'ticks',
  'a tick whose id was taken',
  'broker: a job begins',
  'broker: acknowledge',
  'broker: republish',
  'broker: dead-letter',
  'broker: requeue',
  'broker: revoked',
  'broker: a job is cancelled',
  'broker: a paused queue gets a job back',
] as const

/** What runs must reach, or they show less than they claim. */
export const REQUIRED = {
  memory: MEMORY,
  sqlite: [
    ...MEMORY,
    'kill before at a commit',
    'kill after a commit',
    'killed in a transaction',
    'slow at a commit',
    'stop at a commit',
    'a live session was taken for dead',
    'a dead process was found by its socket',
    'a dead process was found by its beat',
    'a sweep was late',
    'a sweep was refused, as its session has beaten',
    'broker: a session was lost',
    'the clock moved delays',
    'condition: full',
    'condition: locked',
  ],
} as const
