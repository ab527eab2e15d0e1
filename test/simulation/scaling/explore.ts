import { Random } from '../random.js'
import { playSeed } from './scenarios.js'

export interface Exploration {
  readonly seed: number
  readonly runs: number
  /** No further run begins after so many ms. */
  readonly time: number
  readonly endOnFault: boolean
}

/** Plays a run for each seed from the first on. `faults`: of each run with any, as text with the command that repeats it. */
export const explore = ({
  seed,
  runs,
  time,
  endOnFault,
}: Exploration): { readonly runs: number; readonly faults: readonly string[]; readonly nearest: number } => {
  const until = performance.now() + time
  const faults: string[] = []
  let played = 0
  let nearest = 0
  while (played < runs && performance.now() < until && !(endOnFault && faults.length > 0)) {
    const each = seed + played++
    const result = playSeed(each, new Random(each))
    nearest = Math.max(nearest, ...result.outcomes.map((outcome) => outcome.nearest))
    if (result.faults.length > 0)
      faults.push(
        `A promise was broken after ${played} runs (node scripts/simulate.js --scaling --runs 1 --seed ${each}):\n  ${result.faults.slice(0, 5).join('\n  ')}`,
      )
  }
  return { runs: played, faults, nearest }
}
