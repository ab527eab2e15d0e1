import { describe, expect, test } from 'vitest'
import * as own from '../../src/wire/errors.js'
import { appendCallerStack, decodeError, encodeError } from '../../src/wire/remote-error/index.js'

const there = (thrown: unknown): unknown => {
  const { body, binaries } = encodeError(thrown, 20)
  return decodeError(Buffer.concat([body, ...binaries]), 20)
}
const thereError = <T extends Error>(error: T): T => there(error) as T

describe('an error keeps', () => {
  for (const Class of [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) {
    test(Class.name, () => {
      const error = thereError(new Class('a message'))
      expect(Object.getPrototypeOf(error)).toBe(Class.prototype)
      expect([error.message, error.name]).toEqual(['a message', Class.name])
      expect(Object.keys(error)).toEqual([])
    })
  }

  test('its stack as it is', () => {
    const original = new TypeError('x')
    expect(thereError(original).stack).toBe(original.stack)
    original.stack = 'my own'
    expect(thereError(original).stack).toBe('my own')
  })

  test('code and own properties', () => {
    const error = thereError(Object.assign(new Error('x'), { code: 'ENOENT', errno: -2, details: { path: ['a'], when: new Date(1) } }))
    expect(error).toMatchObject({ code: 'ENOENT', errno: -2, details: { path: ['a'], when: new Date(1) } })
    expect(Object.keys(error)).toEqual(['code', 'errno', 'details'])
  })

  test('cause, nested and in a circle', () => {
    const inner = new RangeError('inner', { cause: 'the reason' })
    const outer = new Error('outer', { cause: inner })
    Object.assign(inner, { outer })
    const error = thereError(outer)
    expect(error.cause).toBeInstanceOf(RangeError)
    expect((error.cause as Error).cause).toBe('the reason')
    expect((error.cause as { outer: unknown }).outer).toBe(error)
    expect(Object.keys(error)).toEqual([])
  })

  test('the errors of an AggregateError', () => {
    const error = thereError(new AggregateError([new TypeError('a'), 'b'], 'both'))
    expect(error).toBeInstanceOf(AggregateError)
    expect(error.message).toBe('both')
    expect(error.errors[0]).toBeInstanceOf(TypeError)
    expect(error.errors[1]).toBe('b')
    expect(Object.keys(error)).toEqual([])
  })

  test('being a DOMException', () => {
    const error = there(new DOMException('enough', 'AbortError')) as DOMException
    expect(error).toBeInstanceOf(DOMException)
    expect([error.name, error.message, error.code]).toEqual(['AbortError', 'enough', 20])
    const reason = there(AbortSignal.abort().reason) as DOMException
    expect([reason instanceof DOMException, reason.name]).toEqual([true, 'AbortError'])
  })

  test('the name of a class of its own, on the nearest built-in', () => {
    class ValidationError extends TypeError {
      override name = 'ValidationError'
      field = 'email'
    }
    class Silent extends RangeError {}
    class ByPrototype extends Error {
      get code(): string {
        return 'E_PROTO'
      }
    }
    ByPrototype.prototype.name = 'ByPrototype'
    const error = thereError(new ValidationError('x'))
    expect(error).toBeInstanceOf(TypeError)
    expect([error.name, error.field]).toEqual(['ValidationError', 'email'])
    expect(thereError(new Silent('x'))).toBeInstanceOf(RangeError)
    const third = thereError(new ByPrototype('x'))
    expect([third.name, third.code]).toEqual(['ByPrototype', 'E_PROTO'])
    expect(Object.keys(third)).toEqual([])
  })

  test('the code of Node’s own errors', () => {
    let thrown: unknown
    try {
      Buffer.alloc('x' as unknown as number)
    } catch (error) {
      thrown = error
    }
    const error = there(thrown) as NodeJS.ErrnoException
    expect(error).toBeInstanceOf(TypeError)
    expect(error.code).toBe('ERR_INVALID_ARG_TYPE')
    expect(error.stack).toBe((thrown as Error).stack)
  })

  test('prefork’s own classes', () => {
    const errors = [
      new own.SoftTimeLimitError('slow', 100, 'at a'),
      new own.SerializationError('no', { cause: new TypeError('why') }),
      new own.WorkerLostError('gone', { accepted: true, reason: 'signal', signal: 'SIGKILL' }),
      new own.TaskNotFoundError('none', ['a', 'b']),
      new own.PoolClosedError('closed'),
    ]
    for (const error of errors) {
      const copy = thereError(error)
      expect(copy).toBeInstanceOf(error.constructor)
      expect(copy).toBeInstanceOf(own.PreforkError)
      expect({ ...copy }).toEqual({ ...error })
      expect([copy.name, copy.message, copy.code]).toEqual([error.name, error.message, error.code])
    }
    expect((thereError(errors[1]!).cause as Error).message).toBe('why')
  })
})

describe('always arrives', () => {
  test('anything thrown', () => {
    for (const thrown of [undefined, null, 0, 'text', { a: 1 }, [1], 5n]) expect(there(thrown)).toEqual(thrown)
    expect(there(() => 1)).toBe('[not sent: is a function]')
    expect(there(Symbol('s'))).toBe('[not sent: is a symbol]')
  })

  test('with a note for each property that cannot', () => {
    const error = thereError(
      Object.assign(new Error('x', { cause: { f: () => 1, ok: 1 } }), {
        request: { send: () => 1, id: 7 },
        lock: new WeakMap(),
        blob: new Blob(['a']),
        proxy: new Proxy({}, {}),
      }),
    )
    expect(error).toMatchObject({
      message: 'x',
      cause: { f: '[not sent: is a function]', ok: 1 },
      request: { send: '[not sent: is a function]', id: 7 },
      lock: '[not sent: is a WeakMap, which cannot be copied]',
      blob: '[not sent: is a Blob, which lives in one process only]',
      proxy: '[not sent: is a Proxy]',
    })
  })

  test('though its getters throw', () => {
    const error = new Error('x')
    for (const key of ['stack', 'name', 'code']) {
      Object.defineProperty(error, key, {
        get: () => {
          throw new Error('no')
        },
        enumerable: key === 'code',
      })
    }
    const copy = thereError(error)
    expect(copy.message).toBe('x')
    expect(copy.stack).toContain('x')
  })

  test('though it is nested too deeply, or is a Proxy', () => {
    const error = new RangeError('deep')
    let value: unknown = []
    for (let i = 0; i < 200_000; i++) value = [value]
    Object.assign(error, { value })
    expect(thereError(error).message).toBe('deep')
    expect(thereError(error).stack).toBe(error.stack)
    expect((there(new Proxy(new Error('behind'), {})) as Error).message).toBe('behind')
  })
})

describe('the caller’s stack', () => {
  const caller = `Error: whatever\n    at run (${import.meta.dirname.replace('/test/wire', '')}/dist/index.js:1:1)\n    at async handler (/app/server.js:10:5)\n    at async node:internal/x:1:1`

  test('follows the worker’s, without our own frames, once', () => {
    const error = new Error('x')
    error.stack = 'Error: x\n    at task (/app/tasks.js:1:1)'
    appendCallerStack(error, caller)
    appendCallerStack(error, caller)
    expect(error.stack).toBe('Error: x\n    at task (/app/tasks.js:1:1)\n    at async handler (/app/server.js:10:5)\n    at async node:internal/x:1:1')
    expect(Object.keys(error)).toEqual([])
  })

  test('is left out where it cannot be added', () => {
    const frozen = Object.freeze(new Error('x'))
    const { stack } = frozen
    appendCallerStack(frozen, caller)
    expect(frozen.stack).toBe(stack)
    for (const value of [undefined, null, 'text', { a: 1 }, { stack: 1 }]) appendCallerStack(value, caller)
  })
})
