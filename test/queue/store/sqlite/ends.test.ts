/** How a process and its thread end, in order and otherwise. */
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { SqliteStore } from '../../../../dist/queue/store/sqlite/sqlite-store.js'
import type { StoreSession } from '../../../../src/queue/store/store.js'
import { until } from '../../../fixtures/until.js'
import { newJob } from '../contract.js'
import { failThread, hasSqlite } from './files.js'
import { openStores } from './open-stores.js'

describe.skipIf(!hasSqlite)('ends', () => {
  const opened = openStores()
  const { openStore, openChild } = opened
  const sessionOf = (store: SqliteStore): Promise<StoreSession> => store.openSession({ name: 'here', schedulers: true })
  /** Long before the lease of a session is over. */
  const untilClaimed = (session: StoreSession): Promise<unknown> =>
    until('the job is claimed', async () => (await session.claim(['q'], 1)).jobs.length === 1, 10_000)
  const socketPaths = async (): Promise<string[]> =>
    (await readdir(opened.file.folder)).filter((name) => /sock|bind/.test(name)).map((name) => join(opened.file.folder, name))

  it('a store closes while a process that only adds is connected', async () => {
    const store = await openStore()
    const session = await sessionOf(store)
    let woken = false
    session.onWork(() => {
      woken = true
    })
    const child = await openChild()
    await child.add(newJob())
    await until('its message has come', () => woken)
    await store.close()
    await child.close()
    expect(await socketPaths()).toEqual([])
  })

  it('a store that closes while a session for its listener is being opened leaves neither a session nor a socket', async () => {
    const store = await openStore()
    let closed: Promise<void> | undefined
    await opened.file.sqlAsync(async (database) => {
      database.exec('BEGIN IMMEDIATE')
      store.watch(() => {})
      await until('it listens, and is to open the session', async () => (await socketPaths()).some((path) => path.endsWith('.sock')))
      await delay(50)
      closed = store.close()
      await delay(50)
      database.exec('COMMIT')
    })
    await closed
    expect(await socketPaths()).toEqual([])
    expect(opened.file.sql((database) => database.prepare('SELECT name FROM session').all())).toEqual([])
  })

  it.each(['exit', 'throw'])('a process that ends by %s gives its jobs back long before its lease is over', async (how) => {
    const store = await openStore()
    const session = await sessionOf(store)
    await store.add([newJob({ id: 'a' })])
    const child = await openChild()
    await child.openSession()
    expect((await child.claim(1)).length).toBe(1)
    child.end(how)
    await untilClaimed(session)
    await until('its socket is gone', async () => (await socketPaths()).length === 1)
  })

  it('a process that ends by exit without a session leaves no socket', async () => {
    const child = await openChild()
    await child.openSession()
    await child.closeSession()
    child.end('exit')
    await until('it has ended', () => child.process.exitCode !== null)
    expect(await socketPaths()).toEqual([])
  })

  it('the next store of a file whose thread has failed has another thread', async () => {
    const store = await openStore()
    const session = await sessionOf(store)
    await store.add([newJob({ id: 'a' })])
    await session.claim(['q'], 1)
    await failThread(store)
    await until('the session is lost', () => session.lost.aborted)
    await expect(store.counts()).rejects.toMatchObject({ code: 'ERR_PREFORK_STORE_CLOSED', message: expect.stringContaining('thread of the store failed') })
    await untilClaimed(await sessionOf(await openStore()))
  })

  it('a message that it does not know does a thread no harm', async () => {
    const store = await openStore()
    const session = await sessionOf(store)
    store.watch(() => {})
    let woken = 0
    session.onWork(() => woken++)
    const socket = connect((await socketPaths())[0]!)
    socket.write('null\n"text"\n{}\n{"kind":"new"}\n{"kind":"events"}\n{"kind":"work"}\n')
    await until('what it knows is done', () => woken > 0)
    socket.destroy()
    expect(session.lost.aborted).toBe(false)
    expect(await store.counts()).toEqual({})
  })

  it('a store that cannot be opened leaves no listener on its process', async () => {
    const before = process.listenerCount('exit')
    await expect(openStore({}, join(opened.file.folder, 'none/jobs.db'))).rejects.toThrow('There is no folder')
    expect(process.listenerCount('exit')).toBe(before)
  })
})
