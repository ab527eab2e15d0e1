// Runs the fuzz for a given time: npm run test:fuzz -- --minutes 30 [--seed 1].
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { execa } from 'execa'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } } })
if (!(Number(values.minutes) > 0)) throw new Error(`--minutes must be a number above 0; it is ${values.minutes}`)
const env = { PREFORK_FUZZ_MINUTES: values.minutes, ...(values.seed === undefined ? {} : { PREFORK_SEED: values.seed }) }
const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = [`${root}node_modules/vitest/vitest.mjs`, 'run', 'test/fuzz/fuzz.test.ts']
const { exitCode } = await execa(process.execPath, vitest, { cwd: root, env, stdio: 'inherit', reject: false })
process.exitCode = exitCode ?? 1
