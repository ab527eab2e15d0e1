import { describe, expect, it } from 'vitest'
import { Host, hostScript, startHost } from '../fixtures/hosts.js'
import { freeze, gone, isAlive, Journal } from '../fixtures/support.js'

interface Pids {
  workers: number[]
  loading: number[]
  grandchildren: number[]
}

/** The promise is 2 s; the rest allows for a busy machine. */
const BOUND = 4_000

describe('promise 6: when the host dies', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s every worker exits: idle, in a busy loop, in native code, while loading; and their children',
    async (signal) => {
      const host = startHost('orphans.js', [new Journal().path, new Journal().path])
      const { workers, loading, grandchildren } = await host.reported<Pids>('pids')
      const all = [...workers, ...loading, ...grandchildren]
      expect(all.length).toBeGreaterThanOrEqual(10)
      expect(all.filter((pid) => !isAlive(pid))).toEqual([])
      host.child.kill(signal)
      await gone(all, BOUND)
      expect(await host.ends()).toMatchObject({ signal })
    },
  )

  it('a worker under SIGSTOP exits when it continues', async () => {
    const host = startHost('exits.js', ['has a job pending'])
    const [, ...workers] = await host.reported<number[]>('pids')
    for (const pid of workers) await freeze(pid)
    host.child.kill('SIGKILL')
    await host.ends()
    expect(workers.filter((pid) => !isAlive(pid))).toEqual([])
    for (const pid of workers) process.kill(pid, 'SIGCONT')
    await gone(workers, BOUND)
  })

  it('by process.exit during a job the workers exit', async () => {
    const host = startHost('exits.js', ['calls process.exit'])
    const [, ...workers] = await host.reported<number[]>('pids')
    expect(await host.ends()).toEqual({ code: 5, signal: null })
    await gone(workers, BOUND)
  })
})

describe('promise 10: Ctrl-C in a terminal', () => {
  it('reaches the host alone: the workers finish their jobs', async () => {
    const host = new Host('script', ['-qefc', `${process.execPath} ${hostScript('ctrl-c.js')}`, '/dev/null'])
    const workers = await host.reported<number[]>('pids')
    host.child.stdin!.write('\x03')
    expect(await host.reported('finished')).toEqual([1, 2, 3, 4])
    await host.ends()
    await gone(workers, BOUND)
  })
})
