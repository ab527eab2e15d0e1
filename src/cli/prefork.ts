#!/usr/bin/env node
import { closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { argumentsWithoutPasswords } from '../util/redact.js'
import { main } from './main.js'
import { ProcessStream } from './output/output-stream.js'

// dist/cli/prefork.js and src/cli/prefork.ts are at the same depth.
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/**
 * At its exit, Node restores the modes of the terminals that it started with, and aborts (SIGABRT) where that fails, as for a terminal that was
 * closed meanwhile. Node ignores a descriptor that is closed before.
 */
const closeLostTerminals = (): void => {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd))
  process.on('exit', () => {
    for (const fd of terminals) {
      if (isatty(fd)) continue
      try {
        closeSync(fd)
      } catch {
        // It is closed.
      }
    }
  })
}

/** Every user of the machine can read the command line of a process. A title takes its place, and may not be longer. */
const hidePasswords = (): void => {
  const typed = argumentsWithoutPasswords(process.argv.slice(2))
  if (typed !== undefined) process.title = `prefork ${typed}`
}

const stdout = new ProcessStream(process.stdout)
process.on('exit', () => stdout.flush())
hidePasswords()
closeLostTerminals()
process.stdin.on('error', () => {})

const code = await main(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  version,
  stdin: process.stdin,
  stdout,
  stderr: new ProcessStream(process.stderr),
  signals: process,
  farm: async (broker) => (await import('./operations/queue-file.js')).farmOf(broker),
})
// A connection that is still closing must not delay the shell.
process.exit(code)
