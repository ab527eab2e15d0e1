/** What becomes of the jobs of a process that dies, stands still or cannot write. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClaimedJob, StoreSession } from '../../../../src/queue/store/store.js'
import { until } from '../../../fixtures/until.js'
import { newJob } from '../contract.js'
import { kill, startProcess } from './child-store.js'
import { hasSqlite } from './files.js'
import { openStores } from './open-stores.js'

const FIRST = { attempt: 1, losses: 0, requeues: 0 }

describe.skipIf(!hasSqlite)('deaths', () => {
  const opened = openStores()
  const { openStore, openChild } = opened
  const claimAll = async (session: StoreSession, count: number): Promise<ClaimedJob[]> => {
    const jobs: ClaimedJob[] = []
    await until(`${count} jobs are claimed`, async () => {
      jobs.push(...(await session.claim(['q'], count - jobs.length)).jobs)
      return jobs.length === count
    })
    return jobs.sort((a, b) => a.seq - b.seq)
  }

  it('a killed process gives its jobs back long before its lease is over', async () => {
    const store = await openStore()
    await store.add([newJob({ id: 'begun' }), newJob({ id: 'unbegun' })])
    const child = await openChild()
    await child.openSession()
    const session = await store.openSession({ name: 'here', schedulers: true })
    const [begun] = await child.claim(2)
    await child.began(begun!)
    await until('the beginning is stored', () => opened.file.sql((database) => database.prepare('SELECT 1 FROM job WHERE begun = 1').get()))
    await child.kill()
    const jobs = await claimAll(session, 2)
    expect(jobs.map(({ id, counts }) => [id, counts])).toEqual([
      ['begun', { ...FIRST, losses: 1 }],
      ['unbegun', { ...FIRST, requeues: 1 }],
    ])
    expect(opened.file.sql((database) => database.prepare('SELECT name FROM session').all())).toEqual([{ name: 'here' }])
    expect((await readdir(opened.file.folder)).filter((name) => name.endsWith('.sock')).length).toBe(1)
  })

  it('the next process removes the socket of one that was killed without a session, and nothing that is in use', async () => {
    const { folder, path } = opened.file
    const child = await openChild()
    await child.openSession()
    const sockets = async () => (await readdir(folder)).filter((name) => name.endsWith('.sock'))
    const [dead] = await sockets()
    opened.file.sql((database) => database.exec('DELETE FROM session'))
    await child.kill()
    expect(await sockets()).toEqual([dead])
    // A process that has no session yet.
    const living = `${basename(path)}-0123456789ab.sock`
    const server = createServer()
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => void server.listen(join(folder, living), resolve))
    const others = [`${basename(path)}-ba9876543210.sock`, `other-${dead}`]
    for (const name of others) writeFileSync(join(folder, name), '')
    await (await openStore()).openSession({ name: 'here', schedulers: false })
    await until('the socket is removed', async () => !(await sockets()).includes(dead!))
    expect(await sockets()).toEqual(expect.arrayContaining([living, ...others]))
    expect(await sockets()).toHaveLength(4)
  })

  it('the next process finds those of the last one', async () => {
    const child = await openChild()
    await child.openSession()
    await child.add(newJob({ id: 'a' }))
    await child.claim(1)
    await child.kill()
    const store = await openStore()
    const [job] = await claimAll(await store.openSession({ name: 'next', schedulers: false }), 1)
    expect(job!.counts).toEqual({ ...FIRST, requeues: 1 })
  })

  it('a listener hears of other processes when the sessions beside it are gone', async () => {
    const store = await openStore()
    const session = await store.openSession({ name: 'here', schedulers: false })
    const heard: string[] = []
    store.watch(({ type, id }) => heard.push(`${id} ${type}`))
    const child = await openChild()
    await child.openSession()
    const addUntilHeard = async (what: string): Promise<void> => {
      let count = 0
      await until(`${what} is heard`, async () => {
        await child.add(newJob({ id: `${what}-${++count}` }))
        return heard.some((line) => line.startsWith(what))
      })
    }
    await addUntilHeard('beside')
    await session.close()
    await addUntilHeard('alone')
    // Somebody takes it for dead.
    opened.file.sql((database) => database.exec("UPDATE session SET dead = 1 WHERE name = ''"))
    await until('it is swept', () => opened.file.sql((database) => database.prepare('SELECT 1 FROM session WHERE dead = 1').get()) === undefined)
    await addUntilHeard('again')
  })

  it('a socket that is gone says nothing: the beat decides, as this process sees it', async () => {
    const child = await openChild({ lease: 2_000 })
    await child.openSession()
    await child.add(newJob({ id: 'a' }))
    const [lease] = await child.claim(1)
    for (const name of await readdir(opened.file.folder)) if (name.endsWith('.sock')) rmSync(join(opened.file.folder, name))
    const store = await openStore({ lease: 2_000 })
    const session = await store.openSession({ name: 'here', schedulers: false })
    await delay(1_000)
    expect((await session.claim(['q'], 1)).jobs).toEqual([])
    child.process.kill('SIGSTOP')
    const [job] = await claimAll(session, 1)
    expect(job!.token).toBe(lease!.token + 1)
    child.process.kill('SIGCONT')
    await until('the process knows that it has lost its session', () => child.isLost())
    expect(await child.complete(lease!)).toBe(false)
    await store.add([newJob({ id: 'b' })])
    expect(await child.claim(1)).toEqual([])
    expect(await session.settle(job!, { as: 'completed', answer: Buffer.from('here') })).toBe(true)
    expect((await store.read('q', 'a'))!.state).toBe('completed')
    expect(opened.file.sql((database) => database.prepare('SELECT name FROM session').all())).toEqual([{ name: 'here' }])
  })

  it('a lock held for longer than the lease costs no session', async () => {
    const lease = 1_500
    const child = await openChild({ lease })
    await child.openSession()
    await child.add(newJob({ id: 'a' }))
    const [job] = await child.claim(1)
    const store = await openStore({ lease })
    const session = await store.openSession({ name: 'here', schedulers: false })
    const conditions: string[] = []
    const reasons: unknown[] = []
    store.onCondition((condition, error) => {
      conditions.push(condition)
      if (error !== undefined) reasons.push(error.message)
    })
    await opened.file.sqlAsync(async (database) => {
      database.exec('BEGIN IMMEDIATE')
      await until('the operator is told', () => conditions.includes('locked'))
      expect(reasons).toEqual([expect.stringMatching(/jobs\.db has been locked .* for \d+ s.*fuser \S*jobs\.db.*end it/)])
      await delay(lease)
      database.exec('COMMIT')
    })
    await until('it has passed', () => conditions.at(-1) === 'ok')
    // Once, however long it lasts.
    expect(conditions).toEqual(['locked', 'ok'])
    expect(await child.complete(job!)).toBe(true)
    expect(session.lost.aborted).toBe(false)
    expect(await child.isLost()).toBe(false)
    expect((await store.read('q', 'a'))!.counts).toEqual(FIRST)
  })

  it('loses nothing and confirms nothing twice, however often its processes are killed', async () => {
    const JOBS = 3_000
    const store = await openStore()
    for (let at = 0; at < JOBS; at += 500) await store.add(Array.from({ length: 500 }, (_, index) => newJob({ id: `${at + index}` })))
    const logs: string[] = []
    const runner = async (kills: number): Promise<void> => {
      for (let count = 0; count <= kills; count++) {
        const log = join(opened.file.folder, `log-${logs.length}`)
        logs.push(log)
        const child = await startProcess('run-jobs.js', [opened.file.path, log, '20'])
        if (count < kills) await delay(100 + 200 * Math.random())
        else await until('all have ended', async () => (await store.counts(['q'])).q!.completed === JOBS, 50_000)
        await kill(child)
      }
    }
    await Promise.all([runner(4), runner(4)])
    const lines = logs.flatMap((log) => readFileSync(log, 'utf8').trim().split('\n'))
    const confirmed = lines.filter((line) => line.startsWith('confirmed'))
    expect(new Set(confirmed).size).toBe(confirmed.length)
    expect(confirmed.length).toBeLessThanOrEqual(JOBS)
    for (const log of logs) {
      const done = new Set<string>()
      for (const line of readFileSync(log, 'utf8').split('\n')) {
        const [what, id] = line.split(' ')
        if (what === 'confirmed') done.add(id!)
        expect(what === 'begun' && done.has(id!)).toBe(false)
      }
    }
    const byState = opened.file.sql((database) => database.prepare('SELECT state, count(*) AS n FROM job GROUP BY state').all())
    expect(byState).toEqual([{ state: 4, n: JOBS }])
    expect(opened.file.sql((database) => database.prepare('SELECT state, n FROM counter WHERE n <> 0').all())).toEqual([{ state: 4, n: JOBS }])
  }, 120_000)
})
