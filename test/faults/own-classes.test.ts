import * as prefork from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, sharedPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

type ErrorClass = new (...args: unknown[]) => Error
const classes = Object.entries(prefork).filter((entry): entry is [string, ErrorClass & never] => entry[0].endsWith('Error'))

describe('promise 7: the error classes of prefork in a task are those that the task imports', () => {
  const shared = sharedPool({ tasks: fixture('own-classes.js') })

  it('prefork exports eleven error classes', () => expect(classes).toHaveLength(11))

  it.each(classes)('%s: instanceof holds for an argument, and for a thrown error in the host', async (name, known: ErrorClass) => {
    const args = ['PreforkError', 'WorkerLostError'].includes(name) ? ['ERR_PREFORK_TEST', {}] : ['a message', [], '']
    expect(await shared.pool.run('received', [name, new known(...args)])).toBe(true)
    const thrown = await failure(shared.pool.run('throws', [name]))
    expect(thrown).toBeInstanceOf(known)
    expect((thrown as Error).constructor).toBe(known)
  })

  it('instanceof holds for the reason of the signal at the soft limit', async () => {
    expect(await shared.pool.run('softLimit', [], { softTimeLimit: 50 })).toBe(true)
  })

  it("instanceof holds for errors that the worker's own code throws", async () => {
    expect(await shared.pool.run('unsendable', [])).toBe(true)
    expect(await shared.pool.run('noJob', [])).toBe(true)
  })
})
