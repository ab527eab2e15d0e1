// Runs one measurement in this fresh process: `node one.js <Plan as JSON>`. It prints the figures as JSON on descriptor 3.
import { writeSync } from 'node:fs'
import { CASES } from './cases/index.js'

/** @import { Plan } from './types.js' */

const FIGURES = 3
const plan = /** @type {Plan} */ (JSON.parse(process.argv[2] ?? '{}'))
const found = CASES[plan.case]
const variant = found?.variants[plan.variant]
if (found === undefined || variant === undefined) throw new Error(`there is no variant ${plan.variant} of a case ${plan.case}`)
const metrics = await found.measure(plan, variant)
writeSync(FIGURES, `${JSON.stringify(metrics)}\n`)
process.exit(0)
