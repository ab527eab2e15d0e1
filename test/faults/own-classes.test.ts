import * as prefork from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, sharedPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

type ErrorClass = new (...args: unknown[]) => Error
const classes = Object.entries(prefork).filter((entry): entry is [string, ErrorClass & never] => entry[0].endsWith('Error'))

describe("promise 7: prefork's errors in a task are of the classes that the task imports", () => {
  const shared = sharedPool({ tasks: fixture('own-classes.js') })

  it('there are eleven', () => expect(classes).toHaveLength(11))

  it.each(classes)('%s: received as an argument, and recognised when it is thrown', async (name, known: ErrorClass) => {
    const args = ['PreforkError', 'WorkerLostError'].includes(name) ? ['ERR_PREFORK_TEST', {}] : ['a message', [], '']
    expect(await shared.pool.run('received', [name, new known(...args)])).toBe(true)
    const thrown = await failure(shared.pool.run('throws', [name]))
    expect(thrown).toBeInstanceOf(known)
    expect((thrown as Error).constructor).toBe(known)
  })

  it('the reason of the signal at the soft limit', async () => {
    expect(await shared.pool.run('softLimit', [], { softTimeLimit: 50 })).toBe(true)
  })

  it("what the worker's own code throws at the task's calls", async () => {
    expect(await shared.pool.run('unsendable', [])).toBe(true)
    expect(await shared.pool.run('noJob', [])).toBe(true)
  })
})
