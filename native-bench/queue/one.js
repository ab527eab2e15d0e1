// Runs one measurement in this fresh process: `node one.js <case> <variant> <folder> <size>`. It prints the figures as JSON on descriptor 3.
import { writeSync } from 'node:fs'
import { CASES } from './cases/index.js'

/** @import { Size } from './types.js' */

const FIGURES = 3
const [name = '', key = '', folder = '', size = 'short'] = process.argv.slice(2)
const found = CASES[name]?.variants[key]
if (found === undefined) throw new Error(`there is no variant ${key} of a case ${name}`)
const metrics = await found.measure({ folder, size: /** @type {Size} */ (size) })
writeSync(FIGURES, `${JSON.stringify(metrics)}\n`)
process.exit(0)
