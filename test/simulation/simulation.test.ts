import { playRuns } from './play-runs.js'

playRuns(25)
