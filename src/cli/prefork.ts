#!/usr/bin/env node
import { createRequire } from 'node:module'
import { main } from './main.js'
import { OutputStream } from './output/output-stream.js'
import { leaveLostTerminals } from './output/terminal-gone.js'

// dist/cli/prefork.js and src/cli/prefork.ts are as deep.
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

leaveLostTerminals()
process.stdin.on('error', () => {})

const code = await main(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  version,
  stdin: process.stdin,
  stdout: new OutputStream(process.stdout),
  stderr: new OutputStream(process.stderr),
  signals: process,
  farm: async () => (await import('./amqp-operations.js')).amqpFarm,
})
// What is left, a connection that is just closing, must not hold the shell up.
process.exit(code)
