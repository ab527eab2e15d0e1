import { describe, expect, test } from 'vitest'
import { PackedJobs } from '../../../src/pool/queue/packed-jobs.js'
import { collectGarbage } from '../gc.js'

interface Item {
  number: number
  waiting: boolean
  task: string
  size: number
  submittedAt: number
  args: unknown
  resolve: (value: unknown) => void
}

const args = Buffer.of(1)

/** More jobs than fit into some chunks. */
const MANY = 2_000

const packedJobs = (): { packed: PackedJobs<Item, string>; made: number[]; add: (number: number) => Promise<unknown> } => {
  const made: number[] = []
  const packed = new PackedJobs<Item, string>(({ result: _, ...job }) => {
    made.push(job.number)
    return { ...job, waiting: true }
  })
  return { packed, made, add: (number) => packed.add(number, `task ${number % 3}`, args, number + 1, number / 2) }
}

const takeFirst = (packed: PackedJobs<Item, string>): Item | undefined => {
  const job = packed.peek()
  if (job !== undefined) packed.shift()
  return job
}

describe('packed jobs', () => {
  test('come out in order and as they were added, each made once', async () => {
    const { packed, made, add } = packedJobs()
    const results = Array.from({ length: MANY }, (_, number) => add(number))
    expect(packed.size).toBe(MANY)
    for (let number = 0; number < MANY; number++) {
      expect(packed.number).toBe(number)
      const job = packed.peek()!
      expect(packed.peek()).toBe(job)
      expect(packed.made).toBe(job)
      expect(job).toMatchObject({ number, task: `task ${number % 3}`, args, size: number + 1, submittedAt: number / 2 })
      packed.shift()
      expect(packed.made).toBeUndefined()
      job.resolve(number)
    }
    expect(await Promise.all(results)).toEqual(made)
    expect([packed.size, packed.number, packed.peek()]).toEqual([0, Number.POSITIVE_INFINITY, undefined])
  })

  test('are added and taken in turn, whatever waits', () => {
    const { packed, made, add } = packedJobs()
    let added = 0
    let taken = 0
    // Grows to some chunks, is emptied, and begins anew.
    for (let round = 0; round < 2; round++) {
      for (const more of [0, 1, 3, 700, 511, 512, 513, 1, 0]) {
        for (let i = 0; i < more; i++) void add(added++)
        for (let i = 0; i < more / 2; i++) expect(takeFirst(packed)!.number).toBe(taken++)
      }
      expect(packed.size).toBe(added - taken)
      while (packed.size > 0) expect(takeFirst(packed)!.number).toBe(taken++)
    }
    expect(taken).toBe(added)
    expect(made.length).toBe(added)
  })

  test('drop a first job that stopped waiting', () => {
    const { packed, add } = packedJobs()
    for (let number = 0; number < 3; number++) void add(number)
    packed.peek()!.waiting = false
    expect(packed.peek()!.number).toBe(1)
    expect(packed.drain().map(({ number }) => number)).toEqual([1, 2])
    expect(packed.size).toBe(0)
  })

  test('keep nothing of a job that was taken', async () => {
    const { packed, add } = packedJobs()
    const refs = Array.from({ length: 100 }, (_, number) => new WeakRef(add(number)))
    for (let number = 0; number < 99; number++) takeFirst(packed)!.resolve(undefined)
    // A WeakRef keeps its target until the end of the turn.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([refs[99]])
  })
})
