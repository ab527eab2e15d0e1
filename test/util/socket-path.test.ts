import { lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { boundPath, MAX_SOCKET_PATH, newSocketName, socketPath } from '../../src/util/socket-path.js'

const LONG = `/tmp/${'d'.repeat(120)}/jobs.db`

test('a socket lies beside its file, under a name that is never used twice', () => {
  expect(newSocketName('/tmp/jobs.db')).toMatch(/^jobs\.db-[0-9a-f]{12}\.sock$/)
  expect(newSocketName('/tmp/jobs.db', 'ctl')).toMatch(/^jobs\.db-[0-9a-f]{12}\.ctl$/)
  expect(newSocketName('/tmp/jobs.db')).not.toBe(newSocketName('/tmp/jobs.db'))
  expect(socketPath('/tmp/jobs.db', 'jobs.db-a.sock')).toBe('/tmp/jobs.db-a.sock')
  expect(boundPath('/tmp/jobs.db-a.sock')).toBe('/tmp/jobs.db-a.bind')
})

test('only where its path would be too long it lies in a private folder of the temporary directory', () => {
  const fits = `/tmp/${'d'.repeat(MAX_SOCKET_PATH - '/tmp//jobs.db-012345678901.sock'.length)}/jobs.db`
  expect(newSocketName(fits)).toMatch(/^jobs\.db/)
  expect(newSocketName(fits.replace('jobs', 'jobss'))?.startsWith('/')).toBe(true)
  const name = newSocketName(LONG)!
  expect(name.startsWith('/')).toBe(true)
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(MAX_SOCKET_PATH)
  expect(lstatSync(dirname(name)).mode & 0o777).toBe(0o700)
  expect(socketPath(LONG, name)).toBe(name)
})

test('there is none where that folder is not private, or its path is too long as well', () => {
  const temporary = mkdtempSync(join(tmpdir(), 'pf-path-'))
  onTestFinished(() => rmSync(temporary, { recursive: true }))
  expect(newSocketName(LONG, 'sock', join(temporary, 'is-not-there'))).toBeUndefined()
  expect(newSocketName(LONG, 'sock', join(temporary, 't'.repeat(120)))).toBeUndefined()
})
