import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { expect, test } from 'vitest'
import { descriptorError, tooManyFiles } from '../../../../src/pool/worker/launch/free-descriptors.js'

/** The number that the next file gets. */
const nextDescriptor = (): number => {
  const fd = openSync(devNull, 'r')
  closeSync(fd)
  return fd
}

test('descriptors that were asked for are free afterwards', () => {
  const before = nextDescriptor()
  expect(descriptorError(20)).toBeUndefined()
  expect(nextDescriptor()).toBe(before)
})

test('a want of descriptors is told with its code, its cause and the limit to be raised', () => {
  const cause = Object.assign(new Error('open'), { code: 'EMFILE' })
  const error = tooManyFiles(cause)
  expect(error.message).toBe('No worker process could be started: too many files are open in this process (EMFILE; see ulimit -n).')
  expect(error.cause).toBe(cause)
})
