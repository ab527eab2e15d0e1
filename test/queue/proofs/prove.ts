import { describe, expect } from 'vitest'
import { sharesFiles } from '../../queue-soak/proof-folder.js'
import type { ProofReport } from '../../queue-soak/report.js'

if (!sharesFiles) console.warn(`\n**** The proofs of the queue are SKIPPED: with Node ${process.version}, several processes cannot share a file. ****\n`)

/** Proofs on a file that several processes share: where Node has an SQLite which allows that. */
export const describeProofs = describe.skipIf(!sharesFiles)

/** Times are judged by `npm run soak:queue`: here the machine does other things beside. */
export const expectKept = (report: ProofReport): void => {
  expect(report.problems, JSON.stringify(report.figures)).toEqual([])
}
