import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startPool, upPids } from '../fixtures/pools.js'
import { failure, Journal, Latch, scratch, until } from '../fixtures/support.js'

const FIRST = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
export const pid = () => process.pid
export const hold = async (latch, journal, word) => {
  appendFileSync(journal, '+' + word + '\\n')
  while (!existsSync(latch)) await delay(2)
  return word
}
`
const SECOND = `${FIRST}
export const fresh = (word) => [process.pid, word]
`

/** A pool of two workers; the second has the newer version. */
const twoVersions = async () => {
  const tasks = join(scratch(), 'tasks.mjs')
  writeFileSync(tasks, FIRST)
  const pool = await startPool({ tasks, workers: 2 })
  const [old, replaced] = await until('both are up', () => (upPids(pool).length === 2 ? upPids(pool) : undefined))
  writeFileSync(tasks, SECOND)
  process.kill(replaced!, 'SIGKILL')
  const newer = await until('its successor is up', () => upPids(pool).find((pid) => pid !== old && pid !== replaced))
  return { pool, tasks, old: old!, newer }
}

describe('workers with two versions of a task module', () => {
  it('run a job only where its task exists, even if the other worker is idle', async () => {
    const { pool, newer } = await twoVersions()
    const values = [1, 2, 3, 4, 5, 6, 7, 8]
    expect(await Promise.all(values.map((value) => pool.run('fresh', [value])))).toEqual(values.map((value) => [newer, value]))
  })

  it('let such a job wait for its worker, without holding up other jobs', async () => {
    const { pool, old, newer } = await twoVersions()
    const journal = new Journal()
    const latches = [new Latch(), new Latch()]
    const held = latches.map((latch, index) => pool.submit('hold', [latch.path, journal.path, index]))
    await until('both are busy', () => held.every(({ state }) => state === 'accepted'))
    const waiting = Array.from({ length: 60 }, (_, word) => pool.submit('fresh', [word]))
    const ofOld = pool.stats().workers.find(({ pid }) => pid === old)!
    const [busyOld, busyNew] = ofOld.job?.id === held[0]!.id ? [0, 1] : [1, 0]
    latches[busyOld]!.open()
    await held[busyOld]!.result
    expect(await pool.run('pid', [])).toBe(old)
    expect(waiting.every(({ state }) => state === 'queued' || state === 'written')).toBe(true)
    waiting[50]!.cancel()
    latches[busyNew]!.open()
    const results = (await Promise.all(waiting.filter((_, index) => index !== 50).map(({ result }) => result))) as [number, number][]
    expect(new Set(results.map(([pid]) => pid))).toEqual(new Set([newer]))
    expect(results.map(([, word]) => word)).toEqual(Array.from({ length: 60 }, (_, word) => word).filter((word) => word !== 50))
  })

  it('refuse such a job when no worker with its task is left', async () => {
    const { pool, tasks, newer } = await twoVersions()
    const journal = new Journal()
    const latch = new Latch()
    writeFileSync(tasks, FIRST)
    const held = pool.submit('hold', [latch.path, journal.path, 'a'])
    const other = pool.submit('hold', [latch.path, journal.path, 'b'])
    await until('both are busy', () => journal.lines.length === 2)
    const waiting = pool.submit('fresh', ['x'])
    process.kill(newer, 'SIGKILL')
    await failure(Promise.all([held.result, other.result]))
    latch.open()
    expect(await failure(waiting.result)).toMatchObject({ name: 'TaskNotFoundError', message: expect.stringMatching(/^There is no task 'fresh'/) })
  })

  it('refuse a retry whose task is gone: no other task runs in its place', async () => {
    const tasks = join(scratch(), 'tasks.mjs')
    writeFileSync(tasks, FIRST)
    const pool = await startPool({ tasks, workers: 1 })
    const journal = new Journal()
    const lost = pool.submit('hold', [new Latch().path, journal.path, 'a'], { retryLost: 1 })
    await journal.seen('+a')
    const ran = join(scratch(), 'ran')
    writeFileSync(
      tasks,
      `import { writeFileSync } from 'node:fs'\nexport const another = () => writeFileSync(${JSON.stringify(ran)}, '')\nexport const pid = () => process.pid\n`,
    )
    process.kill(upPids(pool)[0]!, 'SIGKILL')
    expect(await failure(lost.result)).toMatchObject({ name: 'TaskNotFoundError' })
    expect(await pool.run('pid', [])).toBe(upPids(pool)[0])
    expect(existsSync(ran)).toBe(false)
  })
})
