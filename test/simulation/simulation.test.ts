import { playRuns } from './play-runs.js'

// More: first-half.long.test.ts and second-half.long.test.ts.
playRuns(10)
