/** When the ticks of a schedule are, and what they add, the same for every store. Times in ms since the epoch. */
import { randomUUID } from 'node:crypto'
import { Cron } from 'croner'
import type { NewJob, StoredSchedule } from '../store/store.js'

export type Timing = Pick<StoredSchedule, 'cron' | 'every' | 'timeZone'>

/** With `catchUp: 'none'`, a tick that is later than this is missed, ms. */
const PUNCTUAL = 1_000

/** An id is at most so long, bytes. */
const MAX_ID = 255

/** Patterns are parsed once. */
const patterns = new Map<string, Cron>()
const MAX_PATTERNS = 1_000

const patternOf = ({ cron, timeZone }: Timing): Cron => {
  const key = `${timeZone ?? ''} ${cron}`
  const known = patterns.get(key)
  if (known !== undefined) return known
  if (patterns.size >= MAX_PATTERNS) patterns.clear()
  const pattern = new Cron(cron!, { paused: true, ...(timeZone === undefined ? undefined : { timezone: timeZone }) })
  patterns.set(key, pattern)
  return pattern
}

/**
 * The first tick after `after`; undefined: there is none any more. The first tick of `every` is one interval later.
 *
 * @throws {TypeError} the cron pattern or the time zone cannot be read
 */
export const nextTick = (timing: Timing, after: number): number | undefined =>
  timing.every === undefined ? patternOf(timing).nextRun(new Date(after))?.getTime() : after + timing.every

/** The last tick at or before `now`, from `first`, which is one. */
const lastTick = (timing: Timing, first: number, now: number): number => {
  if (timing.every !== undefined) return first + Math.floor((now - first) / timing.every) * timing.every
  // The milliseconds of a cron tick are 0: one that is due now is found just before the next.
  return (
    patternOf(timing)
      .previousRuns(1, new Date(now + 1))[0]
      ?.getTime() ?? first
  )
}

/**
 * Which ticks run now that the one at `nextAt` is due, the earliest first, and when the next one is; undefined: there is none any more. At most
 * `most` are returned: while the next one is due too, there are more.
 */
export const dueTicks = (
  schedule: Timing & Pick<StoredSchedule, 'catchUp'>,
  nextAt: number,
  now: number,
  most = 1_000,
): { readonly ticks: readonly number[]; readonly nextAt: number | undefined } => {
  if (nextAt > now) return { ticks: [], nextAt }
  if (schedule.catchUp === 'all') {
    const ticks: number[] = []
    let at: number | undefined = nextAt
    while (at !== undefined && at <= now && ticks.length < most) {
      ticks.push(at)
      at = nextTick(schedule, at)
    }
    return { ticks, nextAt: at }
  }
  const last = Math.max(nextAt, lastTick(schedule, nextAt, now))
  const missed = schedule.catchUp === 'none' && now - last > PUNCTUAL
  return { ticks: missed ? [] : [last], nextAt: nextTick(schedule, last) }
}

/** As `dueTicks`. A schedule that cannot be read here, because another version has stored it, stops with a warning: it must not stop the others. */
export const readableTicks = (name: string, ...[schedule, ...rest]: Parameters<typeof dueTicks>): ReturnType<typeof dueTicks> => {
  try {
    return dueTicks(schedule, ...rest)
  } catch (error) {
    const why = (error as Error).message.replace(/\.+$/, '')
    process.emitWarning(`The schedule ${name} cannot be read, and has stopped: ${why}. Store it again.`)
    return { ticks: [], nextAt: undefined }
  }
}

/** Whether two schedules have the same ticks: the next one stays when a schedule is stored again. */
export const sameTiming = (a: Timing, b: Timing): boolean => a.cron === b.cron && a.every === b.every && a.timeZone === b.timeZone

/** The id says which tick it was, where it is free. */
const idOfTick = (key: string, tick: number, isFree: (id: string) => boolean): string => {
  const id = `${key}:${tick}`
  return Buffer.byteLength(id) <= MAX_ID && isFree(id) ? id : randomUUID()
}

/** The job that a tick adds. `isFree`: no job of the queue has this id. */
export const jobOfTick = (
  queue: string,
  key: string,
  { task, body, options, priority }: StoredSchedule,
  tick: number,
  isFree: (id: string) => boolean,
): NewJob => ({
  id: idOfTick(key, tick, isFree),
  queue,
  task,
  body,
  options,
  priority,
  runAt: undefined,
  relative: false,
  expiresAt: undefined,
  dependsOn: [],
  onFailedDependency: 'fail',
  dedup: undefined,
})
