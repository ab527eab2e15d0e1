import { describe, expect, it } from 'vitest'
import { JobPlaces } from '../../../../src/pool/worker/shared-memory/job-places.js'
import { FLAG_PLACED, PLACE_BYTES, readStamp } from '../../../../src/wire/arena/place.js'
import { PlaceWriter } from '../../../../src/wire/arena/place-writer.js'
import { FIXED_BYTES, LENGTH_BYTES, writeHead } from '../../../../src/wire/frame.js'
import { Kind } from '../../../../src/wire/messages.js'
import { MemoryFile } from '../../../wire/arena/memory-file.js'

const CAPACITY = 10_000

const setUp = () => {
  const jobs = new MemoryFile(CAPACITY)
  const results = new MemoryFile(CAPACITY)
  const memory = { jobs, results, capacity: CAPACITY, from: 100, trimmed: 0, closed: 0, trim: () => void memory.trimmed++, close: () => void memory.closed++ }
  const places = new JobPlaces(memory, 1 << 20)
  const write = (delivery: number): boolean => places.jobs.write([Buffer.alloc(4_000, delivery)], 4_000, delivery)
  return { memory, places, write, results }
}

describe('the memory of a worker, as the host uses it', () => {
  it('frees the arguments of a delivery, and of those before it, once the worker has read them', () => {
    const { places, write } = setUp()
    expect([write(1), write(2), write(3)]).toEqual([true, true, false])
    places.taken(1)
    expect(write(3)).toBe(true)
    expect(write(4)).toBe(false)
    places.taken(3)
    expect(places.jobs.empty).toBe(true)
  })

  it('frees the arguments of deliveries that were taken back, and no others', () => {
    const { places, write } = setUp()
    write(1)
    write(2)
    places.takenBack(1, 2)
    expect(write(3)).toBe(true)
    expect(write(4)).toBe(false)
    // Delivery 3 was written while the recall was under way.
    places.takenBack(0, 2)
    expect(write(4)).toBe(false)
    places.takenBack(0, 3)
    expect(places.jobs.empty).toBe(true)
  })

  it('completes the frames that come by place, tells the worker that they are read, and passes the others on', () => {
    const { places, memory, results } = setUp()
    const worker = new PlaceWriter(results, CAPACITY, 100)
    const seen: Buffer[] = []
    let reads = 0
    const sink = places.complete(
      (bytes, start, end) => seen.push(Buffer.from(bytes.subarray(start, end))),
      () => reads++,
    )
    const frame = Buffer.alloc(LENGTH_BYTES + FIXED_BYTES + PLACE_BYTES)
    writeHead(frame, 0, FIXED_BYTES, Kind.READY, 0, 1, 5, 6)
    sink(frame, LENGTH_BYTES, LENGTH_BYTES + FIXED_BYTES)
    expect([reads, seen[0]!.length]).toEqual([0, FIXED_BYTES])
    worker.write([Buffer.alloc(500, 9)], 500)
    writeHead(frame, 0, FIXED_BYTES + PLACE_BYTES, Kind.READY, FLAG_PLACED, 1, 5, 6)
    worker.describe(frame, LENGTH_BYTES + FIXED_BYTES)
    expect(readStamp(memory.jobs)).toBeUndefined()
    sink(frame, LENGTH_BYTES, frame.length)
    expect(reads).toBe(1)
    expect(seen[1]!.subarray(FIXED_BYTES)).toEqual(Buffer.alloc(500, 9))
    expect(readStamp(memory.jobs)).toBe(1)
  })

  it('is given back once, when the worker was idle since the call before', () => {
    const { places, memory } = setUp()
    const trimmedAfter = (isIdle: boolean, deliveries: number): number => {
      places.rest(isIdle, deliveries)
      return memory.trimmed
    }
    expect(trimmedAfter(true, 0)).toBe(0)
    expect(trimmedAfter(false, 2)).toBe(0)
    expect(trimmedAfter(false, 2)).toBe(0)
    expect(trimmedAfter(true, 3)).toBe(0)
    expect(trimmedAfter(true, 3)).toBe(1)
    expect(trimmedAfter(true, 3)).toBe(1)
    expect(trimmedAfter(true, 4)).toBe(1)
    expect(trimmedAfter(true, 4)).toBe(2)
  })
})
