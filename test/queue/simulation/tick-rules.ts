/** Each tick of a schedule adds exactly one job. */
import type { Checker } from './checker.js'
import type { Snapshot } from './snapshot.js'

/** The id of a tick's job is its key and its time. */
const ticksOf = (checker: Checker, before: Snapshot, after: Snapshot): Map<string, number[]> => {
  const found = new Map<string, number[]>()
  for (const { seq, id, queue } of after.jobs.values()) {
    if (before.jobs.has(seq) || !id.startsWith('tick ')) continue
    const [, key, at] = /^(tick \d+):(\d+)$/.exec(id) ?? []
    checker.check(key !== undefined, () => `a tick has added a job of another id: ${id}`)
    const name = `${queue} ${key}`
    const tick = `${name} ${at}`
    checker.check(!checker.ticks.has(tick), () => `the tick ${tick} has added a second job`)
    checker.ticks.add(tick)
    found.set(name, [...(found.get(name) ?? []), Number(at)])
    checker.coverage.add('ticks')
  }
  return found
}

export const checkTicks = (checker: Checker, before: Snapshot, after: Snapshot, isSet: (queue: string, key: string) => boolean): void => {
  const added = ticksOf(checker, before, after)
  for (const [name, { nextAt, every, catchUp }] of after.schedules) {
    const old = before.schedules.get(name)
    const ticks = added.get(name)?.length ?? 0
    added.delete(name)
    const space = name.indexOf(' ')
    if (old?.nextAt === undefined || nextAt === undefined || isSet(name.slice(0, space), name.slice(space + 1)) || before.shift !== after.shift) continue
    const steps = (nextAt - old.nextAt) / every
    const expected = steps === 0 ? 0 : catchUp === 'all' ? steps : catchUp === 'one' ? 1 : Math.min(1, ticks)
    checker.check(ticks === expected, () => `the schedule ${name} (${catchUp}) went on by ${steps} ticks and added ${ticks} jobs`)
  }
  for (const name of added.keys()) {
    const space = name.indexOf(' ')
    checker.check(before.schedules.has(name) || isSet(name.slice(0, space), name.slice(space + 1)), () => `${name} has added a job, and is no schedule`)
  }
}
