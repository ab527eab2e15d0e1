import { jobOfTick, nextTick, readableTicks, sameTiming } from '../../../schedules/ticks.js'
import type { StoredSchedule } from '../../store.js'
import type { Row } from '../database/node-sqlite.js'
import { add } from './add.js'
import type { StoreContext } from './context.js'

/** Jobs of one schedule, and schedules, that one transaction handles, at most. */
const SLICE = 100

type Definition = Omit<StoredSchedule, 'body' | 'nextAt'>

const scheduleOf = ({ definition, body, next_at }: Row): StoredSchedule => ({
  ...(JSON.parse(definition as string) as Definition),
  body: body as Uint8Array,
  ...(next_at === null ? undefined : { nextAt: next_at as number }),
})

/** Stores a schedule, or removes it (null). False: there was none to remove. Throws TypeError for a pattern or a time zone that cannot be read. */
export const setSchedule = ({ sql, queues, clock }: StoreContext, name: string, key: string, schedule: StoredSchedule | null): boolean => {
  const queue = queues.idOf(name)
  if (schedule === null) return sql.deleteSchedule.run(queue, key).changes > 0
  const { body, nextAt, ...definition } = schedule
  const row = sql.schedule.get(queue, key)
  const before = row === undefined ? undefined : scheduleOf(row)
  const kept = before !== undefined && sameTiming(before, schedule) ? before.nextAt : undefined
  sql.setSchedule.run(queue, key, JSON.stringify(definition), body, nextAt ?? kept ?? nextTick(schedule, clock.now) ?? null)
  return true
}

export const schedulesOf = ({ sql, queues }: StoreContext, name: string): (StoredSchedule & { readonly key: string })[] => {
  const queue = queues.find(name)
  return queue === undefined ? [] : sql.schedules.all(queue).map((row) => ({ ...scheduleOf(row), key: row.key as string }))
}

/** Adds the jobs of the ticks that are due: one for each tick, as the next tick is advanced in the same transaction. True: there is more. */
export const tick = (context: StoreContext): boolean => {
  const { sql, clock, queues } = context
  const rows = sql.dueSchedules.all(clock.now, SLICE)
  let more = rows.length === SLICE
  for (const row of rows) {
    const schedule = scheduleOf(row)
    const name = `'${row.key}' of the queue '${queues.nameOf(row.queue as number)}'`
    const { ticks, nextAt } = readableTicks(name, schedule, row.next_at as number, clock.now, SLICE)
    if (sql.advance.run(row.queue!, row.key!, row.next_at!, nextAt ?? null).changes === 0) continue
    for (const at of ticks) addTick(context, row, schedule, at)
    more ||= nextAt !== undefined && nextAt <= clock.now
  }
  return more
}

const addTick = (context: StoreContext, row: Row, schedule: StoredSchedule, at: number): void => {
  const isFree = (id: string): boolean => context.sql.jobById.get(row.queue!, id) === undefined
  add(context, [jobOfTick(context.queues.nameOf(row.queue as number), row.key as string, schedule, at, isFree)])
}

/** The wall clock has jumped: intervals go on as if it had not. Patterns name times of the wall clock. */
export const shiftIntervals = ({ sql, queues }: StoreContext, jump: number): void => {
  for (const queue of queues.all()) {
    for (const row of sql.schedules.all(queue)) {
      if (scheduleOf(row).every !== undefined && row.next_at !== null) sql.advance.run(queue, row.key!, row.next_at!, Number(row.next_at) + jump)
    }
  }
}
