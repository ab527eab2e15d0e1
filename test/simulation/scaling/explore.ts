import { Random } from '../random.js'
import { play } from './farm.js'
import { randomFarm } from './mixes.js'

export const exploreScaling = ({
  seed,
  runs,
  minutes,
  first,
}: {
  seed: number
  runs: number
  minutes: number
  first: boolean
}): { runs: number; failures: number; text: string } => {
  const until = performance.now() + minutes * 60_000
  const lines: string[] = []
  let failures = 0
  let played = 0
  let nearest = 0
  for (; played < runs && performance.now() < until; played++) {
    const config = randomFarm(seed + played, new Random(seed + played))
    const began = performance.now()
    const outcome = play(config)
    if (performance.now() - began > 2000) lines.push(`slow ${seed + played}: ${performance.now() - began}`)
    nearest = Math.max(nearest, outcome.nearest)
    if (outcome.faults.length === 0) continue
    failures++
    const { nodes, queues, division } = config
    lines.push(
      `seed ${seed + played}: ${nodes.length} nodes, ${queues} queues, ${division}, max ${nodes[0]!.maxWorkers}, c ${nodes[0]!.concurrency}, cpus ${config.machines[0]}/${config.machines.length}, keepAlive ${nodes[0]!.keepAlive}`,
      ...outcome.faults.slice(0, 3).map((fault) => `  ${fault}`),
    )
    if (first) break
  }
  lines.push(`nearest ${nearest.toFixed(2)}`)
  return { runs: played, failures, text: lines.join('\n') }
}
export const repeat = 0
