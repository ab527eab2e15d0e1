/** Files that cannot be used, or not any more; disks that are full. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { SqliteStore } from '../../../../dist/queue/store/sqlite/sqlite-store.js'
import { openDatabase } from '../../../../src/queue/store/sqlite/database/node-sqlite.js'
import type { ClaimedJob, StoreSession } from '../../../../src/queue/store/store.js'
import { until } from '../../../fixtures/until.js'
import { newJob } from '../contract.js'
import { ChildStore } from './child-store.js'
import { hasSqlite, StoreFile } from './files.js'

const UNUSABLE = 'ERR_PREFORK_STORE_UNUSABLE'

it.skipIf(hasSqlite)('without node:sqlite it says what to install', async () => {
  await expect(new SqliteStore('jobs.db').open()).rejects.toMatchObject({
    code: 'ERR_PREFORK_STORE_UNSUPPORTED',
    message: expect.stringContaining('Node 22.13'),
  })
})

describe.skipIf(!hasSqlite)('bad days', () => {
  let file: StoreFile
  let stores: SqliteStore[]

  const openStore = async (path = file.path, options = {}): Promise<SqliteStore> => {
    const store = new SqliteStore(path, options)
    stores.push(store)
    await store.open()
    return store
  }
  const conditionsOf = (store: SqliteStore): string[] => {
    const conditions: string[] = []
    store.onCondition((condition) => conditions.push(condition))
    return conditions
  }

  beforeEach(() => {
    file = new StoreFile()
    stores = []
  })
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()))
    file.remove()
  })

  describe('refused at open, with what to do', () => {
    it.each([
      ['a folder that is not there', 'none/jobs.db', () => {}, /There is no folder .*create it/],
      ['a folder', 'folder', (path: string) => mkdirSync(path), /is a folder: name a file/],
      ['a file that is no database', 'text', (path: string) => writeFileSync(path, 'x'.repeat(10_000)), /is not a database/],
    ])('%s', async (_, name, prepare, message) => {
      const path = join(file.folder, name)
      prepare(path)
      await expect(openStore(path)).rejects.toMatchObject({ code: UNUSABLE, message: expect.stringMatching(message) })
    })

    it('a folder that cannot be written', async () => {
      await expect(openStore('/proc/jobs.db')).rejects.toMatchObject({ code: UNUSABLE, message: expect.stringContaining('must be writable') })
    })

    it('the database of another application', async () => {
      file.sql((database) => database.exec('CREATE TABLE mine (a)'))
      await expect(openStore()).rejects.toMatchObject({ code: UNUSABLE, message: expect.stringContaining('another application') })
    })

    it('a file of a newer version', async () => {
      await (await openStore()).close()
      file.sql((database) => database.exec('PRAGMA user_version = 99'))
      await expect(openStore()).rejects.toMatchObject({ code: UNUSABLE, message: expect.stringContaining('newer version') })
    })

    it('a second process, where SQLite is too old for two', async () => {
      const store = await openStore(file.path, { exclusive: true })
      await store.add([newJob({ id: 'a' })])
      const session = await store.openSession({ name: 'alone', schedulers: true })
      expect((await session.claim(['q'], 1)).jobs.length).toBe(1)
      const child = await ChildStore.start(file.path, { exclusive: true })
      try {
        await expect(child.open()).rejects.toMatchObject({ code: UNUSABLE, message: expect.stringMatching(/is in use.*3\.51\.3.*install/) })
      } finally {
        await child.kill()
      }
    }, 30_000)
  })

  it('a sweep that fails does not keep schedules from their ticks', async () => {
    const store = await openStore()
    file.sql((database) => database.exec("CREATE TRIGGER stop BEFORE UPDATE ON job WHEN new.state = 6 BEGIN SELECT RAISE(ABORT, 'no'); END"))
    await store.add([newJob({ id: 'a', expiresAt: Date.now() - 1, runAt: Date.now() + 60_000 })])
    const schedule = { every: 60_000, catchUp: 'one', task: 't', body: new Uint8Array(0), options: {}, priority: 0, nextAt: Date.now() - 1 } as const
    await store.schedule('q', 'k', schedule)
    const session = await store.openSession({ name: 'n', schedulers: true })
    await until('the tick has come', async () => (await session.claim(['q'], 1)).jobs.length > 0)
    expect((await store.read('q', 'a'))!.state).toBe('delayed')
    file.sql((database) => database.exec('DROP TRIGGER stop'))
    await until('it has expired', async () => (await store.read('q', 'a'))!.state === 'expired')
  })

  it('where no other process can use the file, a session of before is dead at once', async () => {
    const before = await openStore()
    await before.add([newJob({ id: 'a' })])
    await before.close()
    file.sql((database) => database.exec("INSERT INTO session (id, name) VALUES (99, 'gone'); UPDATE job SET state = 2, token = 1, session = 99, begun = 1"))
    const session = await (await openStore(file.path, { exclusive: true })).openSession({ name: 'alone', schedulers: true })
    let jobs: readonly ClaimedJob[] = []
    await until('it is claimed', async () => {
      ;({ jobs } = await session.claim(['q'], 1))
      return jobs.length > 0
    })
    expect(jobs[0]).toMatchObject({ id: 'a', counts: { losses: 1 } })
  })

  it('its files and its socket are its owner\u2019s alone, and go with it', async () => {
    const store = await openStore()
    await store.openSession({ name: 'n', schedulers: true })
    const names = await readdir(file.folder)
    expect(names.length).toBe(4)
    for (const name of names) expect(`${name} ${(statSync(join(file.folder, name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`)
    await store.close()
    expect(await readdir(file.folder)).toEqual(['jobs.db'])
  })

  it.each(['removed', 'replaced'])('a file that is %s ends the store', async (how) => {
    const store = await openStore()
    const conditions = conditionsOf(store)
    const session = await store.openSession({ name: 'n', schedulers: true })
    await store.add([newJob()])
    for (const end of how === 'replaced' ? ['', '-wal', '-shm'] : ['']) rmSync(file.path + end)
    if (how === 'replaced') {
      const other = new StoreFile()
      const fresh = other.make()
      await fresh.open()
      await fresh.close()
      renameSync(other.path, file.path)
      other.remove()
    }
    await until('it is noticed', () => conditions.includes('removed'), 2_500)
    expect(session.lost.aborted).toBe(true)
    await expect(store.add([newJob()])).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_REMOVED' })
    await store.close()
    // The next one finds a whole file.
    const next = await openStore()
    expect(await next.counts()).toEqual({})
    expect((await next.add([newJob()]))[0]!.added).toBe(true)
  })

  const overwrite = (page: number, size = 4096): void => {
    const descriptor = openSync(file.path, 'r+')
    writeSync(descriptor, Buffer.alloc(size), 0, size, (page - 1) * 4096)
    closeSync(descriptor)
  }
  const rootPage = (name: string): number =>
    file.sql((database) => Number(database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)!.rootpage))

  it('a damaged page of a table ends the store when it is read', async () => {
    const first = await openStore()
    await first.add([newJob({ id: 'a' })])
    await first.close()
    overwrite(rootPage('job'))
    const store = await openStore()
    const conditions = conditionsOf(store)
    await expect(store.read('q', 'a')).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_CORRUPT' })
    await until('it is told', () => conditions.includes('corrupt'))
    await expect(store.add([newJob()])).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_CORRUPT' })
  })

  it.each(['the last page', 'every page'])('a body of which %s was lost fails its job alone', async (which) => {
    const first = await openStore()
    // Of this length little lies in the page of the table.
    const body = Buffer.alloc(37_200, 'b')
    await first.add([newJob({ id: 'a', body }), newJob({ id: 'b' }), newJob({ id: 'c', dependsOn: ['a'] })])
    await first.close()
    // A page of a body holds nothing else but the number of the next one.
    const content = readFileSync(file.path)
    const pages = Array.from({ length: content.length / 4096 }, (_, index) => index + 1).filter((page) => {
      const at = content.subarray((page - 1) * 4096, page * 4096)
      return at.subarray(1_000, 1_200).every((byte) => byte === 0x62)
    })
    expect(pages.length).toBeGreaterThan(8)
    const isLast = (page: number): boolean => content.readUInt32BE((page - 1) * 4096) === 0
    for (const page of pages) if (which === 'every page' || isLast(page)) overwrite(page)
    const store = await openStore()
    expect(await store.read('q', 'a')).toMatchObject({ state: 'failed', reason: 'undecodable' })
    const session = await store.openSession({ name: 'n', schedulers: true })
    expect((await session.claim(['q'], 5)).jobs.map(({ id }) => id)).toEqual(['b'])
    expect(await store.read('q', 'a')).toMatchObject({ state: 'failed', reason: 'undecodable', error: { code: 'ERR_PREFORK_STORE_CORRUPT' } })
    expect((await store.read('q', 'c'))!.state).toBe('failed')
  })

  const claimOne = async (session: StoreSession) => (await session.claim(['q'], 1)).jobs[0]!

  it('a full disk refuses adds, stops claims and keeps what is to be settled', async (test) => {
    const folder = join(file.folder, 'small')
    mkdirSync(folder)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status !== 0) {
      console.warn('**** SKIPPED: a small disk cannot be mounted here ****')
      test.skip()
    }
    try {
      const store = await openStore(join(folder, 'jobs.db'))
      const conditions = conditionsOf(store)
      const session = await store.openSession({ name: 'n', schedulers: true })
      await store.add([newJob({ id: 'a', priority: 1 }), newJob({ id: 'b' })])
      const job = await claimOne(session)
      writeFileSync(join(folder, 'ballast'), '')
      const ballast = openSync(join(folder, 'ballast'), 'w')
      expect(() => {
        for (;;) writeSync(ballast, Buffer.alloc(4096))
      }).toThrow('ENOSPC')
      closeSync(ballast)
      await expect(store.add([newJob({ body: Buffer.alloc(100_000) })])).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_FULL' })
      expect(conditions).toContain('full')
      // It is one byte too long for what is left, too.
      const settled = session.settle(job, { as: 'completed', answer: Buffer.alloc(100_000) })
      expect((await session.claim(['q'], 1)).jobs).toEqual([])
      expect(await Promise.race([settled, Promise.resolve('pending')])).toBe('pending')
      rmSync(join(folder, 'ballast'))
      expect(await settled).toBe(true)
      await until('it has passed', () => conditions.at(-1) === 'ok')
      await until('claims go on', async () => (await session.claim(['q'], 1)).jobs.length === 1)
      await store.close()
    } finally {
      execFileSync('umount', ['-l', folder])
    }
  })

  it('a script that adds a job and ends, ends; its job is stored, and Node warns of nothing', async () => {
    const module = new URL('../../../../dist/queue/store/sqlite/sqlite-store.js', import.meta.url).href
    const script = `
      const { SqliteStore } = await import(${JSON.stringify(module)})
      const store = new SqliteStore(process.argv[1])
      await store.open()
      await store.add([{ ...${JSON.stringify({ ...newJob({ id: 'a' }), body: '' })}, body: Buffer.from('x') }])`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, file.path], { encoding: 'utf8', timeout: 20_000 })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect((await (await openStore()).read('q', 'a'))!.state).toBe('waiting')
  })

  it('a socket whose path would be too long lies in a private folder', async () => {
    const folder = join(file.folder, 'f'.repeat(100))
    mkdirSync(folder)
    chmodSync(folder, 0o700)
    const path = join(folder, 'jobs.db')
    vi.stubEnv('TMPDIR', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    const store = await openStore(path)
    const session = await store.openSession({ name: 'n', schedulers: true })
    const database = openDatabase(path)
    expect(database.prepare('SELECT socket FROM session').get()!.socket).toMatch(/^\/.*prefork-/)
    database.close()
    const child = await ChildStore.start(path)
    try {
      await child.open()
      let woken = 0
      session.onWork(() => woken++)
      await child.add(newJob())
      await until('it is woken', () => woken > 0)
      expect((await readdir(folder)).filter((name) => name.endsWith('.sock'))).toEqual([])
    } finally {
      await child.kill()
    }
  })
})
