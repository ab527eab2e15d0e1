// The thread of a store, with a stopwatch around each transaction: from the moment that it has the lock until it is committed or rolled back.
'use strict'
const { workerData } = require('node:worker_threads')
const { emitWarning } = process
process.emitWarning = () => {}
const { DatabaseSync } = require('node:sqlite')
process.emitWarning = emitWarning

const { prepare } = DatabaseSync.prototype
const { transactions, thread } = workerData
/** Undefined: nothing was begun that changes the file. What only reads is rolled back, too. */
let began

DatabaseSync.prototype.prepare = function (sql) {
  const statement = prepare.call(this, sql)
  const run = (...parameters) => statement.run(...parameters)
  if (sql === 'BEGIN IMMEDIATE')
    return {
      run: () => {
        const result = run()
        began = performance.now()
        return result
      },
    }
  if (sql !== 'COMMIT' && sql !== 'ROLLBACK') return statement
  return {
    run: () => {
      try {
        return run()
      } finally {
        if (began !== undefined) {
          transactions[0] = Math.max(transactions[0], performance.now() - began)
          transactions[1]++
        }
        began = undefined
      }
    },
  }
}

require(thread)
