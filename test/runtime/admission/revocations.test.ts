import { describe, expect, it } from 'vitest'
import { type RememberedRevocations, Revocations, type SpentRevocation } from '../../../src/runtime/admission/revocations.js'

const jobOf = (id: string, queue = 'q', key?: string) => ({
  id,
  queue,
  key: key ?? `${queue}:${id}`,
  hasUniqueKey: key !== undefined,
  isRevoked: false,
  keepsAnswer: false,
  spent: undefined as SpentRevocation | undefined,
})

/** ms, for all nodes. */
let now = 0
const fresh = (size = 100): Revocations =>
  new Revocations(
    size,
    () => {},
    () => ++now,
  )
const without = (ids: RememberedRevocations['ids']): object[] => ids.map(({ at: _, ...id }) => id)

const merged = (into: Revocations, ...lists: Partial<RememberedRevocations>[]): RememberedRevocations => {
  for (const each of lists) into.merge({ keys: [], ids: [], spent: [], ...each })
  return into.remembered
}

describe('the revocations that a node remembers', () => {
  it('are those by key, and those by id that no job has met', () => {
    const revocations = fresh()
    for (const target of [{ key: 'k1' }, { id: 'a' }, { id: 'b', queue: 'q' }, { id: 'c' }, { id: 'd' }]) revocations.add(target)
    expect(revocations.apply(jobOf('a', 'q', 'k2'))).toBe(true)
    revocations.spent({ id: 'c', queue: undefined, key: 'k3' })
    const { keys, ids, spent } = revocations.remembered
    expect(keys).toEqual(['k1', 'k2', 'k3'])
    expect(without(ids)).toEqual([{ id: 'b', queue: 'q' }, { id: 'd' }])
    expect(without(spent)).toEqual([{ id: 'a' }, { id: 'c' }])
  })

  it('end the jobs of a node that merges them, each once', () => {
    const first = fresh()
    for (const target of [{ key: 'k1' }, { id: 'a' }, { id: 'b', queue: 'q' }]) first.add(target)
    const second = fresh()
    const list = JSON.parse(JSON.stringify(first.remembered)) as RememberedRevocations
    expect(merged(second, list, list)).toEqual(first.remembered)
    const jobs = [jobOf('x', 'q', 'k1'), jobOf('a'), jobOf('a'), jobOf('b', 'other'), jobOf('b')]
    expect(jobs.map((job) => second.apply(job))).toEqual([true, true, false, false, true])
  })

  it('are bounded in number, and the newest stay', () => {
    const from = fresh(1_000)
    for (let i = 0; i < 500; i++) {
      from.add({ key: `k${i}` })
      from.add({ id: `i${i}` })
    }
    const { keys, ids } = merged(fresh(10), from.remembered)
    expect(Math.max(keys.length, ids.length)).toBeLessThan(20)
    expect(keys.slice(-10)).toEqual(Array.from({ length: 10 }, (_, i) => `k${490 + i}`))
    expect(ids.at(-1)).toMatchObject({ id: 'i499' })
  })
})

describe('a revocation by id that is spent', () => {
  const stale = { ids: [{ id: 'a', at: 0 }] }

  it('does not come back with the answer of a node that has not heard of it', () => {
    const revocations = fresh()
    revocations.spent({ id: 'a', queue: undefined, key: undefined })
    expect(merged(revocations, stale).ids).toEqual([])
    const own = fresh()
    own.add({ id: 'a' })
    expect(own.apply(jobOf('a'))).toBe(true)
    expect(merged(own, stale).ids).toEqual([])
  })

  it('counts again when it is given again', () => {
    const revocations = fresh()
    revocations.spent({ id: 'a', queue: undefined, key: undefined })
    revocations.add({ id: 'a' })
    expect(revocations.apply(jobOf('a'))).toBe(true)
  })

  it('is forgotten by a node that was cut off when the others heard of it', () => {
    const [cutOff, other] = [fresh(), fresh()]
    for (const each of [cutOff, other]) each.add({ id: 'a', queue: 'q' })
    other.spent({ id: 'a', queue: 'q', key: 'k' })
    const fromCutOff = cutOff.remembered
    cutOff.merge(other.remembered)
    expect(cutOff.apply(jobOf('a'))).toBe(false)
    for (const lists of [
      [fromCutOff, other.remembered],
      [other.remembered, fromCutOff],
    ]) {
      const starting = fresh()
      expect(merged(starting, ...lists).ids).toEqual([])
      expect(starting.apply(jobOf('a'))).toBe(false)
    }
  })

  it('counts when it was given again, whatever those know that missed it', () => {
    const [missed, other] = [fresh(), fresh()]
    for (const each of [missed, other]) each.spent({ id: 'a', queue: undefined, key: undefined })
    other.add({ id: 'a' })
    const fromMissed = missed.remembered
    missed.merge(other.remembered)
    other.merge(fromMissed)
    const starting = fresh()
    merged(starting, fromMissed, other.remembered, fromMissed)
    for (const each of [missed, other, starting]) expect(each.apply(jobOf('a'))).toBe(true)
  })

  it('forget the key of a job that has ended here when its broker keeps its outcome', () => {
    const revocations = fresh()
    for (const keepsAnswer of [true, false]) {
      const job = { ...jobOf('a', 'q', `k${keepsAnswer}`), keepsAnswer }
      revocations.applyAtOnce({ key: job.key }, job)
      revocations.ended(job)
      expect(revocations.apply({ ...job, isRevoked: false })).toBe(!keepsAnswer)
    }
  })
})
