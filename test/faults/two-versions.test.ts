import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startPool, upPids } from '../fixtures/pools.js'
import { failure, Gate, Journal, scratch, until } from '../fixtures/support.js'

const FIRST = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
export const pid = () => process.pid
export const hold = async (gate, journal, word) => {
  appendFileSync(journal, '+' + word + '\\n')
  while (!existsSync(gate)) await delay(2)
  return word
}
`
const SECOND = `${FIRST}
export const fresh = (word) => [process.pid, word]
`

/** A pool of two workers, the second of which has the newer code. */
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

describe('two versions of a task module at work', () => {
  it('a job for a task that one of them has is run there, however idle the others are', async () => {
    const { pool, newer } = await twoVersions()
    const words = [1, 2, 3, 4, 5, 6, 7, 8]
    expect(await Promise.all(words.map((word) => pool.run('fresh', [word])))).toEqual(words.map((word) => [newer, word]))
  })

  it('it waits for that one, and holds up no other', async () => {
    const { pool, old, newer } = await twoVersions()
    const journal = new Journal()
    const gates = [new Gate(), new Gate()]
    const held = gates.map((gate, index) => pool.submit('hold', [gate.path, journal.path, index]))
    await until('both are busy', () => held.every(({ state }) => state === 'accepted'))
    const waiting = Array.from({ length: 60 }, (_, word) => pool.submit('fresh', [word]))
    const ofOld = pool.stats().workers.find(({ pid }) => pid === old)!
    const [busyOld, busyNew] = ofOld.job?.id === held[0]!.id ? [0, 1] : [1, 0]
    gates[busyOld]!.open()
    await held[busyOld]!.result
    expect(await pool.run('pid', [])).toBe(old)
    expect(waiting.every(({ state }) => state === 'queued' || state === 'written')).toBe(true)
    waiting[50]!.cancel()
    gates[busyNew]!.open()
    const results = (await Promise.all(waiting.filter((_, index) => index !== 50).map(({ result }) => result))) as [number, number][]
    expect(new Set(results.map(([pid]) => pid))).toEqual(new Set([newer]))
    expect(results.map(([, word]) => word)).toEqual(Array.from({ length: 60 }, (_, word) => word).filter((word) => word !== 50))
  })

  it('it is refused when none is left that has the task', async () => {
    const { pool, tasks, newer } = await twoVersions()
    const journal = new Journal()
    const gate = new Gate()
    writeFileSync(tasks, FIRST)
    const held = pool.submit('hold', [gate.path, journal.path, 'a'])
    const other = pool.submit('hold', [gate.path, journal.path, 'b'])
    await until('both are busy', () => journal.lines.length === 2)
    const waiting = pool.submit('fresh', ['x'])
    process.kill(newer, 'SIGKILL')
    await failure(Promise.all([held.result, other.result]))
    gate.open()
    expect(await failure(waiting.result)).toMatchObject({ name: 'TaskNotFoundError', message: expect.stringMatching(/^There is no task 'fresh'/) })
  })

  it('a job that is run again after a loss is refused where its task is gone: no other is run in its place', async () => {
    const tasks = join(scratch(), 'tasks.mjs')
    writeFileSync(tasks, FIRST)
    const pool = await startPool({ tasks, workers: 1 })
    const journal = new Journal()
    const lost = pool.submit('hold', [new Gate().path, journal.path, 'a'], { retryLost: 1 })
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
