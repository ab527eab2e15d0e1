import { playRuns } from './play-runs.js'

playRuns(1_500, { part: 0, coverage: true })
