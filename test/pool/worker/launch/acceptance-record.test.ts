import { closeSync, existsSync, fstatSync, writeSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FileRecord } from '../../../../src/pool/worker/launch/acceptance-record.js'
import { RECORD_BYTES, writeRecord } from '../../../../src/wire/acceptance-record.js'
import { acceptanceRecord } from '../../../../src/worker/io/pipes.js'

const open = (): FileRecord => {
  const record = FileRecord.open()!
  onTestFinished(() => record.close())
  return record
}

describe.skipIf(!existsSync('/dev/shm'))('an acceptance record', () => {
  test('shows the host what the worker recorded last, with the time on the clock of the host', () => {
    const record = open()
    expect(record.read()).toBeUndefined()
    const before = performance.now()
    const worker = acceptanceRecord(record.fd)
    expect(worker.record(7, worker.now())).toBe(true)
    const found = record.read()!
    expect(found.delivery).toBe(7)
    expect(found.at).toBeGreaterThan(before - 1)
    expect(found.at).toBeLessThan(performance.now() + 1)
    worker.record(4_000_000_000, 1)
    expect(record.read()!.delivery).toBe(4_000_000_000)
  })

  test('that is being written is not read', () => {
    const record = open()
    const bytes = Buffer.alloc(RECORD_BYTES)
    writeRecord(bytes, 8, 1)
    // The first half of the record that follows another.
    writeSync(record.fd, bytes, 0, 4, 0)
    expect(record.read()).toBeUndefined()
  })

  test('is a file without a name, which is gone when it is closed', () => {
    const record = open()
    expect(fstatSync(record.fd).nlink).toBe(0)
    record.close()
    record.close()
    expect(record.read()).toBeUndefined()
    expect(() => fstatSync(record.fd)).toThrow('EBADF')
  })

  test('cannot be used by a worker whose descriptor is closed: it writes ACCEPTED from then on', () => {
    const record = FileRecord.open()!
    const worker = acceptanceRecord(record.fd)
    closeSync(record.fd)
    expect([worker.record(1, 1), worker.record(2, 1)]).toEqual([false, false])
  })

  test('is left out where it cannot be made', () => {
    expect(FileRecord.open('/proc')).toBeUndefined()
    expect(FileRecord.open('/no/such/directory')).toBeUndefined()
  })
})
