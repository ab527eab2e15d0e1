import { describe, expect, it } from 'vitest'
import { Host, hostScript, startHost } from '../fixtures/hosts.js'
import { freeze, gone, isAlive, Journal } from '../fixtures/support.js'

interface Pids {
  workers: number[]
  loading: number[]
  grandchildren: number[]
}

/** The promise is 2 s; the rest is for a machine that is busy with other tests. */
const BOUND = 4_000

describe('promise 6: when the host dies', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s every worker goes: idle, in a loop anywhere, in native code, while loading; and their children',
    async (signal) => {
      const host = startHost('orphans.js', [new Journal().path, new Journal().path])
      const { workers, loading, grandchildren } = await host.says<Pids>('pids')
      const all = [...workers, ...loading, ...grandchildren]
      expect(all.length).toBeGreaterThanOrEqual(10)
      expect(all.filter((pid) => !isAlive(pid))).toEqual([])
      host.child.kill(signal)
      await gone(all, BOUND)
      expect(await host.ends()).toMatchObject({ signal })
    },
  )

  it('a worker frozen by SIGSTOP leaves when it wakes', async () => {
    const host = startHost('leaves.js', ['has a job pending'])
    const [, ...workers] = await host.says<number[]>('pids')
    for (const pid of workers) await freeze(pid)
    host.child.kill('SIGKILL')
    await host.ends()
    expect(workers.filter((pid) => !isAlive(pid))).toEqual([])
    for (const pid of workers) process.kill(pid, 'SIGCONT')
    await gone(workers, BOUND)
  })

  it('by process.exit in the middle of a job', async () => {
    const host = startHost('leaves.js', ['calls process.exit'])
    const [, ...workers] = await host.says<number[]>('pids')
    expect(await host.ends()).toEqual({ code: 5, signal: null })
    await gone(workers, BOUND)
  })
})

describe('promise 10: Ctrl-C in a terminal', () => {
  it('reaches the host alone: the workers finish their jobs', async () => {
    const host = new Host('script', ['-qefc', `${process.execPath} ${hostScript('ctrl-c.js')}`, '/dev/null'])
    const workers = await host.says<number[]>('pids')
    host.child.stdin!.write('\x03')
    expect(await host.says('finished')).toEqual([1, 2, 3, 4])
    await host.ends()
    await gone(workers, BOUND)
  })
})
