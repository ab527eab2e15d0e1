// Counts vitest's JSON report: `node scripts/ci-count.js REPORT EXIT-STATUS` prints "PASSED FAILED".
import { readFileSync } from 'node:fs'

const [file, status] = process.argv.slice(2)

let passed = 0
let failed = 0
let skipped = 0
try {
  for (const { status: fileStatus, assertionResults, name, message } of JSON.parse(readFileSync(file, 'utf8')).testResults) {
    let failedHere = 0
    for (const test of assertionResults) {
      if (test.status === 'passed') passed++
      else if (test.status === 'failed') failedHere++
      else skipped++
    }
    // A file that does not load, or whose hooks fail, has no failed test of its own.
    if (fileStatus === 'failed' && failedHere === 0) {
      failedHere = 1
      console.error(`${name}: ${message}`)
    }
    failed += failedHere
  }
} catch (error) {
  console.error(`there is no report: ${error.message}`)
  failed = 1
}
// An unhandled error outside of every test, a run that was cut off, or one without any test.
if (failed === 0 && (status !== '0' || passed === 0)) failed = 1
if (skipped > 0) console.error(`${skipped} skipped`)
console.log(`${passed} ${failed}`)
