// Counts vitest's JSON report: `node scripts/ci-count.js REPORT EXIT-STATUS` prints "PASSED FAILED",
// and below it, for the end of a long log, what failed and why.
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

const [file, status] = process.argv.slice(2)

let passed = 0
let failed = 0
let skipped = 0
const whys = []
const why = (name, message) => whys.push(`${name}\n${stripVTControlCharacters(message).slice(0, 3000)}`)
try {
  for (const { status: fileStatus, assertionResults, name, message } of JSON.parse(readFileSync(file, 'utf8')).testResults) {
    let failedHere = 0
    for (const test of assertionResults) {
      if (test.status === 'passed') passed++
      else if (test.status === 'failed') {
        failedHere++
        why(test.fullName, test.failureMessages.join('\n'))
      } else skipped++
    }
    // A file that does not load, or whose hooks fail, has no failed test of its own.
    if (fileStatus === 'failed' && failedHere === 0) {
      failedHere = 1
      why(name, message)
    }
    failed += failedHere
  }
} catch (error) {
  why('there is no report', error.message)
  failed = 1
}
// An unhandled error outside of every test, a run that was cut off, or one without any test.
if (failed === 0 && (status !== '0' || passed === 0)) {
  failed = 1
  why('no test failed, but the run did', `exit status ${status}, ${passed} passed; look above for an error outside of every test`)
}
if (skipped > 0) console.error(`${skipped} skipped`)
console.log([`${passed} ${failed}`, ...whys].join('\n'))
