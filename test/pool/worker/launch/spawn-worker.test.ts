import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { expect, test } from 'vitest'
import { descriptorError } from '../../../../src/pool/worker/launch/spawn-worker.js'

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
