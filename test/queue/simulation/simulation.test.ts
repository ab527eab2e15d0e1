import { playRuns } from '../../simulation/play-runs.js'

playRuns(1, { queue: true })
