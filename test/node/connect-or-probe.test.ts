import { describe, expect, it } from 'vitest'
import { connectOrProbe, isTransient } from '../../src/node/connect-or-probe.js'
import { failure } from '../fixtures/support.js'

const open = (): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } => {
  let resolve = (): void => {}
  let reject = (_: Error): void => {}
  const promise = new Promise<void>((settle, refuse) => {
    resolve = settle
    reject = refuse
  })
  return { promise, resolve, reject }
}

describe('while the broker is waited for', () => {
  it('nothing is tried when it answers, or refuses, in time', async () => {
    let tried = 0
    const trial = async (): Promise<void> => void tried++
    await connectOrProbe(async () => {}, trial, 60_000)
    expect(await failure(connectOrProbe(() => Promise.reject(new Error('login refused')), trial, 60_000))).toMatchObject({ message: 'login refused' })
    expect(tried).toBe(0)
  })

  it('the tasks are tried once, and what is wrong with them ends the wait', async () => {
    const never = new Promise<void>(() => {})
    expect(
      await failure(
        connectOrProbe(
          () => never,
          () => Promise.reject(new Error('not loaded')),
          1,
        ),
      ),
    ).toMatchObject({ message: 'not loaded' })
  })

  it('a trial that is under way when it is there ends first; when it refuses, that is told at once', async () => {
    const [broker, begun, trial] = [open(), open(), open()]
    const tried = (): Promise<void> => {
      begun.resolve()
      return trial.promise
    }
    let reached = false
    const reaching = connectOrProbe(() => broker.promise, tried, 1).then(() => {
      reached = true
    })
    await begun.promise
    broker.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(reached).toBe(false)
    trial.resolve()
    await reaching

    const [refusing, again, hanging] = [open(), open(), open()]
    const refused = connectOrProbe(
      () => refusing.promise,
      () => {
        again.resolve()
        return hanging.promise
      },
      1,
    )
    await again.promise
    refusing.reject(new Error('login refused'))
    expect(await failure(refused)).toMatchObject({ message: 'login refused' })
    // What comes of the trial then is nobody's business.
    hanging.reject(new Error('not loaded'))
  })

  it('a trial that is under way is called off when the broker refuses, and by nothing else', async () => {
    for (const refuses of [false, true]) {
      const [broker, begun, trial] = [open(), open(), open()]
      let refused: AbortSignal | undefined
      const reaching = connectOrProbe(
        () => broker.promise,
        (signal) => {
          refused = signal
          begun.resolve()
          return trial.promise
        },
        1,
      )
      await begun.promise
      if (refuses) {
        broker.reject(new Error('login refused'))
        await failure(reaching)
      } else {
        broker.resolve()
        trial.resolve()
        await reaching
      }
      expect(refused?.aborted).toBe(refuses)
    }
  })
})

const coded = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more })

it.each<[what: string, error: unknown, passes: boolean]>([
  ['a module that threw', new Error('x', { cause: new SyntaxError('y') }), false],
  ['a module that is missing', new Error('x', { cause: coded('ERR_MODULE_NOT_FOUND') }), false],
  ['a module that threw nothing', new Error('x', { cause: undefined }), false],
  ['a module that threw a text', new Error('x', { cause: 'ECONNREFUSED' }), false],
  ['a broker that it could not reach', new Error('x', { cause: coded('ERR_PREFORK_BROKER') }), true],
  ['a database, wrapped', new Error('x', { cause: new Error('y', { cause: coded('ENOTFOUND') }) }), true],
  ['both addresses of a host', new Error('x', { cause: new AggregateError([coded('EACCES'), coded('ECONNREFUSED')]) }), true],
  ['a start that took too long', new Error('x', { cause: coded('ERR_PREFORK_START_TIMEOUT') }), true],
])('%s', (_what, error, passes) => {
  expect(isTransient(error)).toBe(passes)
})

it('an error that is its own cause is judged, too', () => {
  const error = new Error('x')
  error.cause = error
  expect(isTransient(error)).toBe(false)
})
