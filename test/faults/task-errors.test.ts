import { SerializationError } from 'prefork'
import { describe, expect, it } from 'vitest'
import { fixture, sharedPool } from '../fixtures/pools.js'
import { failure } from '../fixtures/support.js'

describe('promise 7: an error that a task throws', () => {
  const errors = sharedPool({ tasks: [fixture('errors.js'), fixture('common.cjs')] })
  const thrownBy = (task: string, ...args: unknown[]): Promise<unknown> => failure(errors.pool.run(task, args))

  it('keeps its class, message, code, own properties and causes', async () => {
    const error = (await thrownBy('rich')) as Error & Record<string, unknown>
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ name: 'TypeError', message: 'rich', code: 'E_RICH', details: new Map([['at', new Date(5)]]) })
    expect(error.cause).toBeInstanceOf(Error)
    const between = error.cause as Error
    expect(between.message).toBe('between')
    expect(between.cause).toBeInstanceOf(RangeError)
    expect(between.cause).toMatchObject({ message: 'the root', depth: 2 })
    expect(Object.keys(error).sort()).toEqual(['code', 'details'])
  })

  it("keeps name and properties when its class is the task's own", async () => {
    const error = await thrownBy('custom')
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'InsufficientFunds', message: 'not enough', balance: 12n })
  })

  it.each(['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'] as const)(
    'of the built-in class %s stays one',
    async (name) => {
      const error = await thrownBy('builtIn', name)
      expect(error).toBeInstanceOf(globalThis[name])
      expect((error as Error).constructor).toBe(globalThis[name])
      expect(error).toMatchObject({ name, message: 'by name' })
    },
  )

  it('keeps the errors of an AggregateError', async () => {
    const error = (await thrownBy('aggregate')) as AggregateError
    expect(error).toBeInstanceOf(AggregateError)
    expect(error.message).toBe('many')
    expect(error.errors).toHaveLength(3)
    expect(error.errors[0]).toBeInstanceOf(TypeError)
    expect(error.errors[1]).toBeInstanceOf(RangeError)
    expect(error.errors[2]).toBe('three')
  })

  it('arrives the same way after an await', async () => {
    expect(await thrownBy('rejects')).toBeInstanceOf(SyntaxError)
  })

  it('keeps its name when it is a DOMException', async () => {
    expect(await thrownBy('domException')).toMatchObject({ name: 'AbortError', message: 'a DOM exception' })
  })

  it.each([['a string'], [42], [null], [undefined], [{ an: 'object' }], [new Map([[1, 2]])]])('need not be an error: %s', async (value) => {
    expect(await thrownBy('value', value)).toEqual(value)
  })

  it('arrives without a property that cannot be copied', async () => {
    const error = await thrownBy('withFunction')
    expect(error).toBeInstanceOf(Error)
    expect((error as Error).message).toContain('carries a function')
  })

  it('leaves the worker alive and the job failed', async () => {
    const pid = await errors.pool.run('fine', [])
    const job = errors.pool.submit('throwIt', [])
    await failure(job.result)
    expect(job).toMatchObject({ state: 'failed', accepted: true })
    expect(await errors.pool.run('fine', [])).toBe(pid)
  })

  it("has a stack of the worker's frames followed by the caller's", async () => {
    const theCaller = async (): Promise<unknown> => await errors.pool.run('throwIt', [])
    const theOuterCaller = async (): Promise<unknown> => await theCaller()
    const { stack = '' } = (await failure(theOuterCaller())) as Error
    expect(stack).toMatch(/^TypeError: thrown in the task\n/)
    expect(stack).toMatch(/throwIt .*errors\.js:\d+:\d+/)
    expect(stack).toContain('theCaller')
    expect(stack).toContain('theOuterCaller')
    expect(stack.indexOf('throwIt')).toBeLessThan(stack.indexOf('theCaller'))
    const { stack: common = '' } = (await thrownBy('throwsInCommonJs')) as Error
    expect(common).toMatch(/common\.cjs:4:\d+/)
  })

  it('has the caller in its stack when the pool itself throws it', async () => {
    const theCaller = async (): Promise<unknown> => await errors.pool.run('bad', ['function'])
    const { stack = '' } = (await failure(theCaller())) as Error
    expect(stack).toContain('theCaller')
  })

  it('may be returned as a value too', async () => {
    const [type, aggregate] = (await errors.pool.run('returnsErrors', [])) as [TypeError, AggregateError]
    expect(type).toBeInstanceOf(TypeError)
    expect(type).toMatchObject({ message: 'returned', cause: 'why' })
    expect(aggregate.errors[0]).toMatchObject({ message: 'inner' })
  })

  it.each(['function', 'symbol', 'promise', 'WeakMap', 'SharedArrayBuffer', 'MessagePort', 'Blob', 'throwing getter'])(
    'a result that cannot travel (%s) is the error of that job alone; the worker lives',
    async (kind) => {
      const pid = await errors.pool.run('fine', [])
      const job = errors.pool.submit('bad', [kind])
      expect(await failure(job.result)).toBeInstanceOf(SerializationError)
      expect(job).toMatchObject({ state: 'failed', accepted: true })
      expect(await job.began).toBe(true)
      expect(await errors.pool.run('fine', [])).toBe(pid)
    },
  )
})
