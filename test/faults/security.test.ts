import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))

describe('a worker', () => {
  it('inherits no descriptor of the host', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'prefork-test-'))
    const secret = openSync(join(directory, 'secret'), 'w')
    const server = createServer().listen(0)
    try {
      const pool = await startPool()
      const open = (await pool.run('openFiles', [])) as string[]
      expect(open.length).toBeGreaterThan(5)
      expect(open.filter((name) => name.includes('secret'))).toEqual([])
      const sockets = open.filter((name) => name.startsWith('socket:'))
      // stderr, jobs, results and lifeline: no other descriptor is a socket, whatever the host has open.
      expect(sockets).toHaveLength(4)
    } finally {
      closeSync(secret)
      server.close()
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it.runIf(process.allowedNodeEnvironmentFlags.has('--permission') && !process.version.startsWith('v22'))('may have fewer rights than the host', async () => {
    const pool = await startPool({ execArgv: ['--permission', '--allow-fs-read=*', '--allow-worker'] })
    expect(await pool.run('echo', ['fine'])).toBe('fine')
    expect(await failure(pool.run('mark', ['/dev/null', 1]))).toMatchObject({ code: 'ERR_ACCESS_DENIED' })
    expect(await failure(pool.run('spawnChild', []))).toMatchObject({ code: 'ERR_ACCESS_DENIED' })
    expect(await failure(pool.run('spinFor', [60_000], { timeLimit: 100 }))).toMatchObject({ name: 'TimeLimitError' })
    expect(await pool.run('echo', ['goes on'])).toBe('goes on')
  })

  it('runs where code generation from strings is disallowed', async () => {
    const pool = await startPool({ execArgv: ['--disallow-code-generation-from-strings'] })
    const rows = Array.from({ length: 50 }, (_, id) => ({ id, name: `row ${id}`, 'a key: (with) code': [id] }))
    expect(await pool.run('echo', [rows])).toEqual(rows)
  })
})

describe('the package', () => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => /\.c?js$/.test(name))

  it.each(files)('evaluates no text: %s', (name) => {
    // The texts that are evaluated are this one, of util/node-time.ts, and the worker's main file, which its entry compiles. A module with a syntax error is parsed.
    const code = readFileSync(join(dist, name), 'utf8')
      .replace(/\("node:vm"\)\.runInThisContext\("process"\)/, '')
      .replace(name === 'worker/entry.cjs' ? 'require("node:vm")' : '', '')
      .replace("import { SourceTextModule } from 'node:vm'", '')
    expect(code.match(/\bnew Function\b|\bFunction\(\s*["'`]|(?<![.\w])eval\(|["'](?:node:)?vm["']/g)).toBeNull()
  })
})
