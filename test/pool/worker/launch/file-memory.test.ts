import { existsSync, fstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FileRecord } from '../../../../src/pool/worker/launch/acceptance-record.js'
import { PoolMemory, placeBytes } from '../../../../src/pool/worker/launch/file-memory.js'
import { FIRST_PAGE, sharedFile } from '../../../../src/wire/arena/shared-file.js'

const MB = 1024 * 1024

const open = (capacity = MB) => {
  const record = FileRecord.open()!
  const memory = new PoolMemory(capacity, 1).open(record)!
  onTestFinished(() => {
    memory.close()
    record.close()
  })
  return { record, memory }
}

describe.skipIf(!existsSync('/dev/shm'))('the memory that a worker shares with its host', () => {
  test('is two files without names, whose pages are taken as they are written', () => {
    const { record, memory } = open()
    expect([fstatSync(memory.fd).nlink, fstatSync(record.fd).nlink]).toEqual([0, 0])
    expect(memory.jobs.write([Buffer.alloc(40_000, 1), Buffer.alloc(10_000, 2)], FIRST_PAGE + 500_000, 50_000)).toBe(true)
    const pages = fstatSync(memory.fd).blocks * 512
    expect(pages).toBeGreaterThanOrEqual(50_000)
    expect(pages).toBeLessThan(80_000)
    const read = Buffer.alloc(10_000)
    expect(sharedFile(memory.fd).read([read], FIRST_PAGE + 540_000, 10_000)).toBe(true)
    expect(read).toEqual(Buffer.alloc(10_000, 2))
  })

  test('is given back but for the first page, where the record stays', () => {
    const { record, memory } = open()
    memory.results.write([Buffer.from('the record')], 0, 10)
    memory.results.write([Buffer.alloc(300_000, 1)], FIRST_PAGE, 300_000)
    memory.jobs.write([Buffer.alloc(300_000, 1)], FIRST_PAGE, 300_000)
    memory.trim()
    expect([memory.fd, record.fd].map((fd) => fstatSync(fd).blocks * 512)).toEqual([FIRST_PAGE, FIRST_PAGE])
    const read = Buffer.alloc(10)
    expect(memory.results.read([read], 0, 10)).toBe(true)
    expect(read.toString()).toBe('the record')
    expect(memory.jobs.read([read], FIRST_PAGE, 10)).toBe(false)
  })

  test('fails no caller once it is closed', () => {
    const { memory } = open()
    const { fd } = memory
    memory.close()
    memory.close()
    memory.trim()
    expect(() => fstatSync(fd)).toThrow(/EBADF/)
    expect(memory.jobs.write([Buffer.alloc(1)], 0, 1)).toBe(false)
    expect(memory.jobs.read([Buffer.alloc(1)], 0, 1)).toBe(false)
  })

  test('is there only beside a record, and for so many workers at once', () => {
    const { record } = open()
    expect(new PoolMemory(MB, 1).open(undefined)).toBeUndefined()
    expect(new PoolMemory(0, 1).open(record)).toBeUndefined()
    const pool = new PoolMemory(MB, 2)
    const [first, second, third] = [pool.open(record)!, pool.open(record)!, pool.open(record)]
    expect(third).toBeUndefined()
    first.close()
    first.close()
    const [fourth, fifth] = [pool.open(record)!, pool.open(record)]
    expect(fifth).toBeUndefined()
    for (const memory of [second, fourth]) memory.close()
  })

  test('is shared out evenly among workers and directions, in whole pages', () => {
    expect(placeBytes(8 * MB, 4)).toBe(MB)
    expect(placeBytes(3_000_000, 2)).toBe(749_568)
    expect(placeBytes(8 * MB, 100)).toBe(0)
    expect(placeBytes(0, 1)).toBe(0)
    expect(placeBytes(1e15, 1) % FIRST_PAGE).toBe(0)
    expect(placeBytes(1e15, 1)).toBeLessThanOrEqual(0x8000_0000)
  })

  test('is memory: never a disk, nor a folder that is not there', () => {
    expect(placeBytes(8 * MB, 1, '/proc')).toBe(0)
    expect(placeBytes(8 * MB, 1, `${tmpdir()}/is-not-there`)).toBe(0)
  })
})
