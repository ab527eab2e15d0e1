import { playRuns } from '../../simulation/play-runs.js'

playRuns(8, { queue: true, part: 1 })
