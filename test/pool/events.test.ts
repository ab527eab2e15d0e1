import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EventHub } from '../../src/pool/events.js'
import type { PoolEvents } from '../../src/pool/types.js'

const EVENT: PoolEvents['workerStart'] = { worker: 1, pid: 2 }
const pool = { the: 'pool' }

/** Uncaught exceptions of the process during `fn` and the ticks after it. */
const uncaught = async (fn: () => void): Promise<unknown[]> => {
  const before = process.rawListeners('uncaughtException')
  const errors: unknown[] = []
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  try {
    fn()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener as (error: Error) => void)
  }
  return errors
}

describe('listeners', () => {
  test('get the events of their name until they are removed', () => {
    const events = new EventHub(pool)
    const seen: unknown[] = []
    const listener = (event: unknown): void => {
      seen.push(event)
    }
    expect(events.wants('workerStart')).toBe(false)
    events.on('workerStart', listener)
    events.on('workerStart', listener)
    expect([events.wants('workerStart'), events.wants('workerUp')]).toEqual([true, false])
    events.emit('workerStart', EVENT)
    events.emit('workerUp', { worker: 1, pid: 2, ms: 3 })
    events.off('workerStart', listener)
    events.off('workerStart', listener)
    events.off('workerUp', listener)
    expect(events.wants('workerStart')).toBe(false)
    events.emit('workerStart', EVENT)
    expect(seen).toEqual([EVENT])
  })

  test('that throw affect neither the emitter nor other listeners; the error is an uncaught exception', async () => {
    const events = new EventHub(pool)
    const seen: string[] = []
    const mistake = new Error('a mistake')
    events.on('workerStart', () => {
      seen.push('first')
      throw mistake
    })
    events.on('workerStart', () => seen.push('second'))
    const errors = await uncaught(() => {
      events.emit('workerStart', EVENT)
      seen.push('emitted')
    })
    expect(seen).toEqual(['first', 'second', 'emitted'])
    expect(errors).toEqual([mistake])
  })

  test('run in the async context in which they were added', () => {
    const storage = new AsyncLocalStorage<string>()
    const events = new EventHub(pool)
    const seen: unknown[] = []
    storage.run('caller', () => events.on('workerStart', () => seen.push(storage.getStore())))
    storage.run('emitter', () => {
      events.emit('workerStart', EVENT)
      seen.push(storage.getStore())
    })
    expect(seen).toEqual(['caller', 'emitter'])
  })

  test('may be added and removed by a listener: the current event goes to those that were there', () => {
    const events = new EventHub(pool)
    const seen: string[] = []
    const second = (): void => void seen.push('second')
    events.on('workerStart', () => {
      seen.push('first')
      events.off('workerStart', second)
      events.on('workerStart', () => seen.push('third'))
    })
    events.on('workerStart', second)
    events.emit('workerStart', EVENT)
    expect(seen).toEqual(['first', 'second'])
    events.emit('workerStart', EVENT)
    expect(seen.slice(2)).toEqual(['first', 'third'])
  })

  test('for an unknown event, or that are no functions, are refused by name', () => {
    const events = new EventHub(pool)
    expect(() => events.on('workerUpp' as 'workerUp', () => {})).toThrow(/There is no event 'workerUpp'; there are: workerStart, workerUp, /)
    expect(() => events.on('workerUp', undefined as never)).toThrow(TypeError)
  })
})

describe('the diagnostics channel', () => {
  const seen: unknown[] = []
  const subscriber = (message: unknown, name: string | symbol): void => {
    seen.push([name, message])
  }
  beforeEach(() => {
    seen.length = 0
    subscribe('prefork:workerStart', subscriber)
  })
  afterEach(() => {
    unsubscribe('prefork:workerStart', subscriber)
  })

  test('gets the event and its pool, without any listener', () => {
    const events = new EventHub(pool)
    expect([events.wants('workerStart'), events.wants('workerUp')]).toEqual([true, false])
    events.emit('workerStart', EVENT)
    expect(seen).toEqual([['prefork:workerStart', { pool, ...EVENT }]])
    expect((seen[0] as [string, { pool: unknown }])[1].pool).toBe(pool)
  })

  test('is not affected by a subscriber that throws', async () => {
    const events = new EventHub(pool)
    const mistake = new Error('a mistake')
    const failing = (): void => {
      throw mistake
    }
    channel('prefork:workerStart').subscribe(failing)
    let received = 0
    events.on('workerStart', () => received++)
    try {
      expect(await uncaught(() => events.emit('workerStart', EVENT))).toEqual([mistake])
    } finally {
      channel('prefork:workerStart').unsubscribe(failing)
    }
    expect([received, seen.length]).toEqual([1, 1])
  })
})
