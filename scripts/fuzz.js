// npm run test:fuzz -- --minutes 30 [--seed 1]: the fuzz for as long as you like.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } } })
if (!(Number(values.minutes) > 0)) throw new Error(`--minutes must be a number above 0; it is ${values.minutes}`)
const env = { ...process.env, PREFORK_FUZZ_MINUTES: values.minutes, ...(values.seed === undefined ? {} : { PREFORK_SEED: values.seed }) }
const root = fileURLToPath(new URL('..', import.meta.url))
const { status } = spawnSync(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, 'run', 'test/fuzz/fuzz.test.ts'], { cwd: root, env, stdio: 'inherit' })
process.exit(status ?? 1)
