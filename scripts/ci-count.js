// Counts the tests of vitest's JSON report: `node scripts/ci-count.js REPORT EXIT-STATUS` prints "PASSED FAILED" and below it each
// failure with its message.
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

const [file, status] = process.argv.slice(2)

let passed = 0
let failed = 0
let skipped = 0
const failures = []
const addFailure = (name, message) => failures.push(`${name}\n${stripVTControlCharacters(message).slice(0, 3000)}`)
try {
  for (const { status: fileStatus, assertionResults, name, message } of JSON.parse(readFileSync(file, 'utf8')).testResults) {
    let failedHere = 0
    for (const test of assertionResults) {
      if (test.status === 'passed') passed++
      else if (test.status === 'failed') {
        failedHere++
        addFailure(test.fullName, test.failureMessages.join('\n'))
      } else skipped++
    }
    // A file that does not load, or whose hooks fail, has no failed test.
    if (fileStatus === 'failed' && failedHere === 0) {
      failedHere = 1
      addFailure(name, message)
    }
    failed += failedHere
  }
} catch (error) {
  addFailure('there is no report', error.message)
  failed = 1
}
// An unhandled error outside of the tests, an aborted run, or a run without tests.
if (failed === 0 && (status !== '0' || passed === 0)) {
  failed = 1
  addFailure('no test failed, but the run did', `exit status ${status}, ${passed} passed; look above for an error outside of every test`)
}
if (skipped > 0) console.error(`${skipped} skipped`)
console.log([`${passed} ${failed}`, ...failures].join('\n'))
