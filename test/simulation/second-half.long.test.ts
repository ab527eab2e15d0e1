import { playRuns } from './play-runs.js'

playRuns(1_500, { part: 1, coverage: true })
