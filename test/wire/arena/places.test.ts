import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { noteStamp, PLACE_BYTES, readStamp } from '../../../src/wire/arena/place.js'
import { PlaceReader } from '../../../src/wire/arena/place-reader.js'
import { PlaceWriter } from '../../../src/wire/arena/place-writer.js'
import { FIRST_PAGE } from '../../../src/wire/arena/shared-file.js'
import { ProtocolError } from '../../../src/wire/errors.js'
import { MemoryFile } from './memory-file.js'

const setUp = (capacity = 10_000, maxBytes = 1 << 20) => {
  const file = new MemoryFile(capacity)
  return { file, writer: new PlaceWriter(file, capacity, 100), reader: new PlaceReader(file, capacity, maxBytes) }
}

/** A frame of which `own` comes through the pipe. */
const placed = (writer: PlaceWriter, own = Buffer.from('head')): Buffer => {
  const frame = Buffer.concat([own, Buffer.alloc(PLACE_BYTES)])
  writer.describe(frame, own.length)
  return frame
}

const payload = (bytes: number, fill: number): Buffer => Buffer.alloc(bytes, fill)

describe('a payload by place', () => {
  it('is read as it was written, behind what came through the pipe', () => {
    const { writer, reader } = setUp()
    expect(writer.write([payload(60, 1), payload(40, 2)], 100, 1)).toBe(true)
    const frame = Buffer.concat([Buffer.from('other bytes'), placed(writer)])
    const whole = reader.complete(frame, 11, frame.length, 3)
    expect(whole).toEqual(Buffer.concat([payload(3, 0), Buffer.from('head'), payload(60, 1), payload(40, 2)]))
    expect(reader.stamp).toBe(1)
  })

  it('goes through the pipe when it is small, when it is more than half of the memory, or while there is no room', () => {
    const { writer, file } = setUp(1_000)
    expect(writer.write([payload(99, 1)], 99)).toBe(false)
    expect(writer.write([payload(501, 1)], 501)).toBe(false)
    expect(file.calls).toEqual([])
    expect(writer.write([payload(480, 1)], 480, 1)).toBe(true)
    expect(writer.write([payload(480, 1)], 480, 2)).toBe(true)
    expect(writer.write([payload(100, 1)], 100, 3)).toBe(false)
    writer.freeUpTo(1)
    expect(writer.write([payload(100, 1)], 100, 3)).toBe(true)
  })

  it('goes through the pipe when its copy would hold up the event loop, whatever the memory', () => {
    const file = { write: vi.fn(() => true), read: () => false }
    const writer = new PlaceWriter(file, 1 << 30, 100)
    expect(writer.write([], 16 * 1024 * 1024 + 1, 1)).toBe(false)
    expect(file.write).not.toHaveBeenCalled()
    expect(writer.write([], 16 * 1024 * 1024, 1)).toBe(true)
  })

  it('goes through the pipe for a while after a write that failed, and takes no room by it', () => {
    const { writer, file } = setUp()
    file.isFull = true
    expect(writer.write([payload(200, 1)], 200, 1)).toBe(false)
    expect(writer.empty).toBe(true)
    file.isFull = false
    const tries = Array.from({ length: 9 }, () => writer.write([payload(200, 1)], 200, 1))
    expect(tries).toEqual([...new Array<boolean>(8).fill(false), true])
    expect(file.calls).toHaveLength(2)
  })

  it('pauses longer each time', () => {
    const { writer, file } = setUp()
    file.isFull = true
    for (let tries = 0; tries < 100; tries++) writer.write([payload(200, 1)], 200, 1)
    // After 8, 16 and 32 others.
    expect(file.calls).toHaveLength(4)
  })

  it.each([
    ['other bytes, as those of a file that a task has opened under this number', (file: MemoryFile) => file.bytes.fill(7)],
    ['the stamp of another place', (file: MemoryFile) => file.bytes.writeUInt32LE(2, FIRST_PAGE)],
    ['another length', (file: MemoryFile) => file.bytes.writeUInt32LE(101, FIRST_PAGE + 4)],
  ])('is refused when the memory holds %s', (_what, spoil) => {
    const { writer, reader, file } = setUp()
    writer.write([payload(100, 1)], 100, 1)
    const frame = placed(writer)
    spoil(file)
    expect(() => reader.complete(frame, 0, frame.length, 0)).toThrow(ProtocolError)
  })

  it('is refused when the memory ends before it, so no byte stays unwritten', () => {
    const { writer } = setUp()
    writer.write([payload(100, 1)], 100, 1)
    const frame = placed(writer)
    // The file was cut off.
    const shorter = { write: () => false, read: () => false }
    expect(() => new PlaceReader(shorter, 10_000, 1 << 20).complete(frame, 0, frame.length, 0)).toThrow(/ends before the 100 bytes of place 1/)
  })

  it.each([
    ['begins in the first page', FIRST_PAGE - 1, 100],
    ['begins in the memory and ends behind it', FIRST_PAGE + 10_000 - 107, 100],
    ['begins behind the memory', 0xffff_ffff, 100],
    ['is longer than the memory', FIRST_PAGE, 200 << 20],
  ])('is refused when it %s, before anything is allocated or read', (_what, position, bytes) => {
    const { writer, reader, file } = setUp(10_000, 256 << 20)
    writer.write([payload(100, 1)], 100, 1)
    const frame = placed(writer)
    frame.writeUInt32LE(position, 4)
    frame.writeUInt32LE(bytes, 8)
    const allocated = vi.spyOn(Buffer, 'allocUnsafeSlow')
    onTestFinished(() => allocated.mockRestore())
    expect(() => reader.complete(frame, 0, frame.length, 0)).toThrow(new ProtocolError(`The ${bytes} bytes of place 1 lie outside the shared memory.`))
    expect(allocated).not.toHaveBeenCalled()
    expect(file.calls).toEqual([`write ${FIRST_PAGE}`])
  })

  it('may reach to the last byte of the memory', () => {
    const { writer, reader, file } = setUp()
    writer.write([payload(100, 1)], 100, 1)
    const frame = placed(writer)
    const last = FIRST_PAGE + 10_000 - 108
    file.bytes.copyWithin(last, FIRST_PAGE, FIRST_PAGE + 108)
    frame.writeUInt32LE(last, 4)
    expect(reader.complete(frame, 0, frame.length, 0)).toEqual(Buffer.concat([Buffer.from('head'), payload(100, 1)]))
  })

  it('is refused when it is too long, or its frame has no room for a place', () => {
    const { writer, reader } = setUp(10_000, 103)
    writer.write([payload(100, 1)], 100, 1)
    const frame = placed(writer)
    expect(() => reader.complete(frame, 0, frame.length, 0)).toThrow(/it has 103 at most/)
    expect(() => reader.complete(frame, 0, PLACE_BYTES - 1, 0)).toThrow(/no room for a place/)
  })
})

describe('the stamp of the last result that was read', () => {
  it('frees the places up to it', () => {
    const { writer, file } = setUp(1_000)
    for (let result = 0; result < 6; result++) {
      expect(writer.write([payload(300, result)], 300)).toBe(true)
      expect(writer.write([payload(300, result)], 300)).toBe(true)
      expect(writer.write([payload(300, result)], 300)).toBe(true)
      expect(writer.write([payload(300, result)], 300)).toBe(false)
      const last = 3 * (result + 1)
      noteStamp(file, last - 1)
      writer.freeUpToStamp(readStamp(file)!)
      expect(writer.empty).toBe(false)
      noteStamp(file, last)
      writer.freeUpToStamp(readStamp(file)!)
      expect(writer.empty).toBe(true)
    }
  })

  it('is unknown while it is being written', () => {
    const file = new MemoryFile()
    expect(readStamp(file)).toBeUndefined()
    noteStamp(file, 5)
    expect(readStamp(file)).toBe(5)
    file.bytes.writeUInt32LE(6, 0)
    expect(readStamp(file)).toBeUndefined()
  })
})
