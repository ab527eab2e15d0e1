import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fixture, WorkerUnderTest } from './worker-process.js'

/** What workers inherit: the tests may themselves run at a low priority. */
const own = getPriority()
/** Values above it. */
const low = Math.max(own, 0) + 1
const lower = low + 1

const started = (niceness: number, env: Record<string, string> = {}, more: object = {}): Promise<WorkerUnderTest> =>
  new WorkerUnderTest({ tasks: [fixture('niceness.js')], niceness, ...more }, env).up()

/** By thread: its name, and its nice value, which is the 19th field of its state. */
const threadsOf = (pid: number): Map<number, { name: string; nice: number }> =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))!
      return [Number(thread), { name: name!, nice: Number(rest!.split(' ')[16]) }]
    }),
  )

describe.skipIf(own > 17)('the niceness of a worker', () => {
  test('is that of the host while its tasks load, and its own once it is up', async () => {
    const worker = await started(low)
    expect(getPriority(worker.child.pid)).toBe(low)
    expect(await worker.value('values')).toEqual([own, own, low])
  })

  test("is inherited by a task's child process", async () => {
    expect(await (await started(low)).value('ofChild')).toBe(low)
  })

  test.each([...new Set([0, own])])('stays as it is with %d', async (niceness) => {
    expect(await (await started(niceness)).value('values')).toEqual([own, own, own])
  })

  test('is not lowered where a start hook has set a higher value, though root could', async () => {
    expect(await (await started(low, { HOOK_SETS: String(lower) })).value('values')).toEqual([own, own, lower])
  })

  test.each(['getPriority', 'setPriority'])('does not fail the start where the system refuses %s', async (call) => {
    const folder = mkdtempSync(join(tmpdir(), 'prefork-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const preload = join(folder, 'refuse.cjs')
    writeFileSync(preload, `require('node:os').${call} = () => { throw Object.assign(new Error('EPERM'), { code: 'ERR_SYSTEM_ERROR' }) }`)
    const worker = await new WorkerUnderTest({ niceness: low }, { NODE_OPTIONS: `--require=${preload}` }).up()
    expect(await worker.value('add', 1, 2)).toBe(3)
    expect([getPriority(worker.child.pid), worker.stderr]).toEqual([own, ''])
  })

  describe.runIf(process.platform === 'linux')('on Linux', () => {
    test.each([true, false])('is that of its main thread alone (watchdog: %s)', async (watchdog) => {
      const { child } = await started(low, {}, { watchdog })
      const threads = threadsOf(child.pid!)
      expect(threads.get(child.pid!)!.nice).toBe(low)
      threads.delete(child.pid!)
      expect([...threads.values()].filter(({ nice }) => nice !== own)).toEqual([])
      // Threads have names of their own from Node 24 on. The watchdog takes its name while it boots, which nobody waits for.
      const watchdogs = () => [...threadsOf(child.pid!).values()].filter(({ name }) => name.startsWith('prefork watchdo'))
      if (Number.parseInt(process.versions.node, 10) >= 24)
        await expect.poll(watchdogs, { timeout: 10_000 }).toEqual(watchdog ? [{ name: 'prefork watchdo', nice: own }] : [])
    })

    test('leaves its watchdog prompt: one more thread at the priority of the host', async () => {
      const count = async (watchdog: boolean): Promise<number> => {
        const { child } = await started(low, {}, { watchdog })
        return [...threadsOf(child.pid!).values()].filter(({ nice }) => nice === own).length
      }
      expect(await count(true)).toBe((await count(false)) + 1)
    })
  })
})
